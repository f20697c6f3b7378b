"""Calls of the REST API: of an installation's own, in this process, or of a dashboard elsewhere."""

from __future__ import annotations

from typing import Any

import httpx
from mcp.server.mcpserver.exceptions import ToolError

from ganboard.worker.api import application
from ganboard.worker.api.callers import Access
from ganboard.worker.api.contract import PATH, Caller, Scope
from ganboard.worker.context import Context

SECONDS = 60.0  # for an answer
ASSISTANT = "assistant"  # in place of a token's id in the audit log


def here(context: Context, scope: Scope) -> httpx.AsyncClient:
    """The API over a database that this process opened, as the account that runs it."""
    caller = Caller(context.user or "this machine", scope, ASSISTANT)
    app = application.make(Access(lambda: context, lambda _: caller))
    transport = httpx.ASGITransport(app, raise_app_exceptions=False)
    return httpx.AsyncClient(transport=transport, base_url="http://ganboard", timeout=SECONDS)


def elsewhere(url: str, token: str) -> httpx.AsyncClient:
    """The API of the dashboard at a URL."""
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    base = f"{url.rstrip('/')}{PATH}"
    return httpx.AsyncClient(base_url=base, headers=headers, timeout=SECONDS)


class Api:
    """Requests whose errors are sentences that an assistant can act on."""

    def __init__(self, client: httpx.AsyncClient) -> None:
        self._client = client

    async def get(self, path: str, **query: Any) -> Any:
        """What an address answers; what is None or empty is not asked for. Raises ToolError."""
        given = {name: value for name, value in query.items() if value not in (None, [])}
        return (await self._answer("GET", path, params=given)).json()

    async def read(self, path: str) -> bytes:
        """A file. Raises ToolError."""
        return (await self._answer("GET", path)).content

    async def send(self, method: str, path: str, **body: Any) -> Any:
        """The answer to a change, without what is None. Raises ToolError."""
        given = {name: value for name, value in body.items() if value is not None}
        return (await self._answer(method, path, json=given)).json()

    async def _answer(self, method: str, path: str, **request: Any) -> httpx.Response:
        try:
            answer = await self._client.request(method, path, **request)
        except httpx.HTTPError as error:
            raise ToolError(
                f"{self._client.base_url.host} does not answer ({error}). Check the address, and"
                " that the dashboard runs."
            ) from None
        if answer.is_success:
            return answer
        try:
            sentence = str(answer.json()["error"])
        except (ValueError, KeyError, TypeError):
            sentence = f"{self._client.base_url} answered {answer.status_code}."
        raise ToolError(sentence)
