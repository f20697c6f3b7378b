"""Every test of the database layer runs on SQLite and, where GANBOARD_TEST_POSTGRES_URL names a
server, on PostgreSQL."""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from sqlalchemy import Engine, text
from sqlalchemy.engine import make_url
from sqlmodel import SQLModel

from ganboard.db.engine import make_engine
from ganboard.db.migrate import upgrade

SERVER = "GANBOARD_TEST_POSTGRES_URL"


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.postgres)])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """A database of the test's own: a file, or a schema. It is empty unless the test uses
    `engine`."""
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path / 'ganboard.db'}"
    elif "engine" in request.fixturenames:
        shared: str = request.getfixturevalue("migrated_schema")
        yield shared
        empty(shared)
    else:
        with new_schema() as own:
            yield own


@pytest.fixture(scope="session")
def migrated_schema() -> Iterator[str]:
    """A PostgreSQL schema with this version's tables. Each test leaves them empty."""
    with new_schema() as url:
        engine = make_engine(url)
        upgrade(engine)
        engine.dispose()
        yield url


@contextmanager
def new_schema() -> Iterator[str]:
    """The address of an empty schema of a name of its own, which is dropped afterwards."""
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


def empty(url: str) -> None:
    """Delete all rows and count from one again, which takes a tenth of the time of TRUNCATE."""
    engine = make_engine(url)
    with engine.begin() as connection:
        for table in reversed(SQLModel.metadata.sorted_tables):
            connection.execute(table.delete())
        connection.execute(
            text(
                "SELECT setval(format('%I.%I', schemaname, sequencename), start_value, false)"
                " FROM pg_sequences WHERE schemaname = current_schema()"
            )
        )
    engine.dispose()


@pytest.fixture
def empty_engine(url: str) -> Iterator[Engine]:
    """An engine on a database without tables."""
    engine = make_engine(url)
    yield engine
    engine.dispose()


@pytest.fixture
def engine(url: str, migrated_file: Path) -> Iterator[Engine]:
    """An engine on a database with this version's schema."""
    engine = make_engine(url)
    if engine.url.get_backend_name() == "sqlite":
        assert engine.url.database
        shutil.copyfile(migrated_file, engine.url.database)
    yield engine
    engine.dispose()
