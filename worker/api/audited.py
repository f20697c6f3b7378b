"""Every change that the bearer of a person's token asks for is in the audit log before it is
answered."""

from __future__ import annotations

import logging
from typing import Any

from sqlalchemy.exc import DBAPIError
from starlette.concurrency import run_in_threadpool
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ganboard.db.access import audit
from ganboard.db.errors import DbError
from ganboard.worker.api.contract import Caller
from ganboard.worker.context import Context

READS = ("GET", "HEAD", "OPTIONS")

log = logging.getLogger(__name__)


class Audited:
    """ASGI middleware. Others, who cannot change anything, are not recorded: they could fill the
    database. Nor is what only reads, although it has a body: plans of searches and the like."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] in READS:
            await self._app(scope, receive, send)
            return

        async def recorded(message: Message) -> None:
            state: dict[str, Any] = scope.get("state", {})
            changer: Caller | None = state.get("changer")
            if message["type"] == "http.response.start" and changer and changer.token_id:
                await run_in_threadpool(
                    _record, changer, state["context"], scope, message["status"]
                )
            await send(message)

        await self._app(scope, receive, recorded)


def _record(caller: Caller, context: Context, scope: Scope, status: int) -> None:
    address = scope["path"].removeprefix(scope.get("root_path", ""))
    try:
        audit.record(
            context.engine.execution_options(before_writing=None),
            who=caller.who,
            token_id=caller.token_id,
            action=f"{scope['method']} {address}",
            status=status,
        )
    except (DbError, DBAPIError):
        log.exception(
            "The audit log lacks %s %s of %s, answered %s",
            scope["method"],
            address,
            caller.who,
            status,
        )
