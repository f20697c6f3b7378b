"""Open pages over a PostgreSQL database that drops them, lets nobody in, and comes back. For
SQLite: test_many_tabs."""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import BrowserContext, expect
from sqlalchemy import create_engine, text
from sqlalchemy.engine import make_url

from ganboard.db.models import Run
from ganboard.worker.context import Context, open_context
from tests.e2e.furniture import furnish

SERVER = os.environ.get("GANBOARD_TEST_POSTGRES_URL")
PATIENCE = 60_000  # milliseconds
GONE = "The database is unavailable"

pytestmark = [
    pytest.mark.postgres,
    pytest.mark.skipif(
        not SERVER,
        reason="GANBOARD_TEST_POSTGRES_URL is not set: give it the URL of a PostgreSQL server",
    ),
]


@pytest.fixture
def admit(home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[bool], None]]:
    """A database of its own behind GANBOARD_DATABASE_URL, and a switch: whether it lets anybody
    in."""
    assert SERVER
    server, name = (
        make_url(SERVER).set(drivername="postgresql+psycopg"),
        f"test_{secrets.token_hex(6)}",
    )
    admin = create_engine(server, isolation_level="AUTOCOMMIT")

    def allow(whether: bool) -> None:
        with admin.connect() as connection:
            connection.execute(text(f"ALTER DATABASE {name} ALLOW_CONNECTIONS {whether}"))
            if not whether:
                connection.execute(
                    text(
                        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname ="
                        " :name"
                    ),
                    {"name": name},
                )

    with admin.connect() as connection:
        connection.execute(text(f"CREATE DATABASE {name}"))
    monkeypatch.setenv(
        "GANBOARD_DATABASE_URL", server.set(database=name).render_as_string(hide_password=False)
    )
    try:
        yield allow
    finally:
        with admin.connect() as connection:
            connection.execute(text(f"DROP DATABASE {name} WITH (FORCE)"))
        admin.dispose()


@pytest.fixture
def context(admit: Callable[[bool], None]) -> Iterator[Context]:
    opened = open_context()
    yield opened
    opened.engine.dispose()


@pytest.mark.thorough
def test_open_pages_say_so_and_recover(
    context: Context,
    make_run: Callable[..., Run],
    server: str,
    new_context: Callable[[], BrowserContext],
    admit: Callable[[bool], None],
) -> None:
    runs = furnish(context, make_run)
    # draws itself anew all the time; the others do with the next click
    live = f"run?run={runs[2].id}"
    addresses = [
        "",
        live,
        f"run?run={runs[0].id}",
        f"compare?runs={runs[0].id},{runs[2].id}",
        "launch",
        "playground",
        "system",
    ]
    tabs, titles = [new_context().new_page() for _ in addresses], []
    for tab, address in zip(tabs, addresses, strict=True):
        tab.goto(f"{server}/{address}")
        heading = tab.get_by_test_id("stHeading").first
        expect(heading).to_be_visible(timeout=PATIENCE)
        titles.append(heading.inner_text())
    admit(False)
    for tab, address in zip(tabs, addresses, strict=True):
        if address != live:
            tab.reload()
        expect(tab.get_by_text(GONE).first).to_be_visible(timeout=PATIENCE)
    admit(True)
    for tab, title in zip(tabs, titles, strict=True):
        expect(tab.get_by_text(GONE)).to_have_count(0, timeout=PATIENCE)
        expect(tab.get_by_test_id("stHeading").first).to_have_text(title, timeout=PATIENCE)
