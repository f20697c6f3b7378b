"""Bring a database to this version's schema, under a lock; refuse one written by a newer version."""

from __future__ import annotations

from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, Engine, text

from db.engine import check_reachable
from db.errors import SchemaTooNew

ADVISORY_LOCK = 0x67616E62  # "ganb"; any fixed number, the same in every process


def upgrade(engine: Engine) -> str:
    """Apply missing migrations; returns the revision. Raises Unreachable, SchemaTooNew."""
    check_reachable(engine)
    # SQLite's DDL takes part in transactions: EXCLUSIVE is the lock, and a killed migration leaves nothing behind
    with engine.execution_options(sqlite_lock="EXCLUSIVE").begin() as connection:
        if connection.dialect.name == "postgresql":
            connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": ADVISORY_LOCK})
        config = _config(connection)
        head = ScriptDirectory.from_config(config).get_current_head()
        assert head is not None
        if _checked_revision(connection, config) != head:
            command.upgrade(config, "head")
        return head


def revision(engine: Engine) -> str | None:
    """The database's revision, None when it is empty. Raises Unreachable, SchemaTooNew."""
    check_reachable(engine)
    with engine.connect() as connection:
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


def _config(connection: Connection) -> Config:
    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations"))
    config.attributes["connection"] = connection
    return config
