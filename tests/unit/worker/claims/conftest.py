"""An installation on SQLite or PostgreSQL."""

from __future__ import annotations

from pathlib import Path

import pytest
from sqlalchemy import Engine

from ganboard.db.settings import Settings
from ganboard.worker.context import Context
from tests.unit.db.conftest import engine as engine
from tests.unit.db.conftest import migrated_schema as migrated_schema
from tests.unit.db.conftest import url as url


@pytest.fixture
def anywhere(engine: Engine, home: Path) -> Context:  # in this order: `home` clears the environment
    """Like `context`, on each kind of database."""
    return Context(Settings(), engine)
