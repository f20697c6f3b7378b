"""Bring a database to this version's schema, under a lock; refuse one written by a newer version."""

from __future__ import annotations

from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, Engine, text

from db.engine import clear_errors
from db.errors import SchemaTooNew

MIGRATIONS = Path(__file__).parent / "migrations"
ADVISORY_LOCK = 0x67616E62  # "ganb"; any fixed number, the same in every process


def upgrade(engine: Engine) -> str:
    """Apply missing migrations; returns the revision. Raises Unreachable, SchemaTooNew."""
    newest = head()
    if revision(engine) == newest:
        return newest
    # SQLite's DDL takes part in transactions: EXCLUSIVE is the lock, and a killed migration leaves nothing behind
    with clear_errors(engine), engine.execution_options(sqlite_lock="EXCLUSIVE").connect() as connection:
        if connection.dialect.name == "sqlite":
            # a table that a migration rebuilds must not take the rows below it along; the connection is not used again
            connection.detach()
            connection.connection.cursor().execute("PRAGMA foreign_keys=OFF")
        with connection.begin():
            if connection.dialect.name == "postgresql":
                connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": ADVISORY_LOCK})
            config = _config(connection)
            if _checked_revision(connection, config) != newest:  # another process may have been first
                command.upgrade(config, "head")
    return newest


def create(connection: Connection) -> None:
    """This version's tables in an empty database, within the caller's transaction."""
    command.upgrade(_config(connection), "head")


def known(revision: str) -> bool:
    """Whether this version of the code can upgrade a database of `revision`."""
    return revision in {script.revision for script in ScriptDirectory.from_config(_config(None)).walk_revisions()}


def head() -> str:
    """The revision that this version of the code works with."""
    found = ScriptDirectory.from_config(_config(None)).get_current_head()
    assert found is not None
    return found


def revision(engine: Engine) -> str | None:
    """The database's revision, None when it is empty. Raises Unreachable, SchemaTooNew."""
    with clear_errors(engine), engine.connect() as connection:
        return _checked_revision(connection, _config(connection))


def _checked_revision(connection: Connection, config: Config) -> str | None:
    scripts = ScriptDirectory.from_config(config)
    found = MigrationContext.configure(connection).get_current_revision()
    if found is not None and found not in {script.revision for script in scripts.walk_revisions()}:
        raise SchemaTooNew(
            f"The database has schema {found}, but this ganboard knows only up to {scripts.get_current_head()}: "
            "update ganboard; the database was left untouched."
        )
    return found


def _config(connection: Connection | None) -> Config:
    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS).replace("%", "%%"))
    config.attributes["connection"] = connection
    return config
