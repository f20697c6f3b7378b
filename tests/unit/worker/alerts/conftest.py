"""A web server and a mail server on this machine, and an installation on SQLite or PostgreSQL."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import Engine

from ganboard.db.settings import Settings
from ganboard.worker.context import Context
from tests.receivers import MailReceiver, WebReceiver, mail_receiver, web_receiver
from tests.unit.db.conftest import engine as engine
from tests.unit.db.conftest import migrated_schema as migrated_schema
from tests.unit.db.conftest import url as url


@pytest.fixture
def receiver() -> Iterator[WebReceiver]:
    with web_receiver() as found:
        yield found


@pytest.fixture
def post_office() -> Iterator[MailReceiver]:
    with mail_receiver() as found:
        yield found


@pytest.fixture
def anywhere(engine: Engine, home: Path) -> Context:  # in this order: `home` clears the environment
    """Like `context`, on each kind of database."""
    return Context(Settings(), engine)
