"""Every test of the database layer runs on SQLite and, where GANBOARD_TEST_POSTGRES_URL names a
server, on PostgreSQL."""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import Engine, text
from sqlalchemy.engine import make_url

from ganboard.db.engine import make_engine
from ganboard.db.migrate import upgrade

SERVER = "GANBOARD_TEST_POSTGRES_URL"


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.postgres)])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """An empty database: a file of its own, or a schema of its own that is dropped afterwards."""
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path / 'ganboard.db'}"
        return
    if not os.environ.get(SERVER):
        pytest.skip(
            f"{SERVER} is not set: give it the URL of a PostgreSQL database in which schemas may be"
            " created"
        )
    server = make_url(os.environ[SERVER]).set(drivername="postgresql+psycopg")
    schema = f"test_{secrets.token_hex(6)}"
    admin = make_engine(server.render_as_string(hide_password=False))
    with admin.begin() as connection:
        connection.execute(text(f"CREATE SCHEMA {schema}"))
    try:
        yield server.update_query_dict({"options": f"-csearch_path={schema}"}).render_as_string(
            hide_password=False
        )
    finally:
        with admin.begin() as connection:
            connection.execute(text(f"DROP SCHEMA {schema} CASCADE"))
        admin.dispose()


@pytest.fixture
def empty_engine(url: str) -> Iterator[Engine]:
    """An engine on a database without tables."""
    engine = make_engine(url)
    yield engine
    engine.dispose()


@pytest.fixture
def engine(empty_engine: Engine, migrated_file: Path) -> Engine:
    """An engine on a database with this version's schema."""
    if empty_engine.url.get_backend_name() == "sqlite":
        assert empty_engine.url.database
        shutil.copyfile(migrated_file, empty_engine.url.database)
    else:
        upgrade(empty_engine)
    return empty_engine
