"""The REST API of a dashboard elsewhere: over a real socket, with the token of a person."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest
from mcp.server.mcpserver.exceptions import ToolError
from starlette.applications import Starlette
from starlette.routing import Mount

from ganboard.app.web import callers
from ganboard.db.access import tokens
from ganboard.db.settings import Settings
from ganboard.worker.api import application
from ganboard.worker.api.callers import Access
from ganboard.worker.api.contract import PATH
from ganboard.worker.assistant import api_client
from ganboard.worker.context import Context
from tests.real_server import served
from tests.unit.worker.assistant.loop import in_a_loop


@pytest.fixture
def dashboard(context: Context) -> Iterator[str]:
    """Its address."""
    identify = partial(callers.identify, Settings(), context=lambda: context)
    api = application.make(Access(lambda: context, identify))
    app = Starlette(routes=[Mount(PATH, api)])
    with served(app) as url:
        yield f"{url}/"


def asked(url: str, token: str, method: str, path: str, **body: Any) -> Any:
    async def once() -> Any:
        async with api_client.elsewhere(url, token) as client:
            return await api_client.Api(client).send(method, path, **body)

    return in_a_loop(once)


def test_the_token_decides(context: Context, dashboard: str) -> None:
    _, token = tokens.create(context.engine, name="bot", owner="olga", scope="write")
    run = asked(dashboard, token, "POST", "/runs", preset="tiny")
    assert run["owner"] == "olga"
    with pytest.raises(ToolError, match="token with scope write"):
        asked(dashboard, "", "POST", "/runs", preset="tiny")
    with pytest.raises(ToolError, match="unknown, expired or revoked"):
        asked(dashboard, "wrong", "POST", "/runs", preset="tiny")


def test_nobody_answers() -> None:
    with pytest.raises(ToolError, match=r"127\.0\.0\.1 does not answer"):
        asked("http://127.0.0.1:9", "", "GET", "/runs")


def test_another_server_answers(dashboard: str) -> None:
    with pytest.raises(ToolError, match="answered 404"):
        asked(f"{dashboard}elsewhere", "", "GET", "/runs")
