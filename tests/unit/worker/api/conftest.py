"""The REST API over a real database, called in this process with real tokens."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest
from starlette.testclient import TestClient

from ganboard.app.web import callers
from ganboard.db.access import tokens
from ganboard.db.settings import Settings
from ganboard.worker.api import application
from ganboard.worker.api.callers import Access
from ganboard.worker.context import Context

OWNER = "olga@lab.example"
MakeClient = Callable[..., TestClient]


@pytest.fixture
def client_of(context: Context) -> Iterator[MakeClient]:
    """Makes clients whose token has this scope, or that send no token."""
    identify = lambda request: callers.identify(Settings(), request, lambda: context)  # noqa: E731
    app = application.make(Access(lambda: context, identify))
    with ExitStack() as opened:

        def make(scope: str | None = "write") -> TestClient:
            headers = {}
            if scope is not None:
                _, text = tokens.create(context.engine, name="test", owner=OWNER, scope=scope)
                headers = {"Authorization": f"Bearer {text}"}
            client = TestClient(app, headers=headers, raise_server_exceptions=False)
            return opened.enter_context(client)

        yield make


@pytest.fixture
def client(client_of: MakeClient) -> TestClient:
    """One that may write."""
    return client_of()
