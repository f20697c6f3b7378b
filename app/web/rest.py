"""The REST API where the dashboard serves it.

FastAPI and the types of requests and answers take 12 MB: the first request loads them, so whoever
uses the pages alone does without.
"""

from __future__ import annotations

from functools import cache
from threading import Lock
from typing import TYPE_CHECKING

from starlette.concurrency import run_in_threadpool
from starlette.routing import Mount
from starlette.types import ASGIApp, Receive, Scope, Send

from ganboard.app.navigation import context
from ganboard.db.settings import Settings
from ganboard.worker.api.contract import PATH

if TYPE_CHECKING:
    from starlette.requests import Request

    from ganboard.worker.api.contract import Caller

_loading = Lock()


async def _answer(scope: Scope, receive: Receive, send: Send) -> None:
    await (await run_in_threadpool(_application))(scope, receive, send)


def _application() -> ASGIApp:
    with _loading:  # two first requests at once
        return loaded()


@cache
def loaded() -> ASGIApp:
    """The application, for this process."""
    from ganboard.app.web import callers  # noqa: PLC0415
    from ganboard.worker.api import application as api  # noqa: PLC0415
    from ganboard.worker.api.callers import Access  # noqa: PLC0415

    def identify(request: Request) -> Caller | str:
        return callers.identify(Settings(), request, context)

    return api.make(Access(context, identify))


ROUTES = [Mount(PATH, _answer)]
