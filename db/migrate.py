"""Bring a database to this version's schema, under a lock; refuse one written by a newer
version."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from sqlalchemy import Connection, Engine, inspect, text

from ganboard.db.engine import clear_errors
from ganboard.db.errors import SchemaTooNew

if TYPE_CHECKING:
    from alembic.config import Config

MIGRATIONS = Path(__file__).parent / "migrations"
ADVISORY_LOCK = 0x67616E62  # "ganb"; any fixed number, the same in every process


def upgrade(engine: Engine) -> str:
    """Apply missing migrations; returns the revision. Raises Unreachable, SchemaTooNew."""
    newest = head()
    if revision(engine) == newest:
        return newest

    from alembic import command

    # SQLite's DDL takes part in transactions: EXCLUSIVE is the lock, and a killed migration leaves
    # nothing behind
    with (
        clear_errors(engine),
        engine.execution_options(sqlite_lock="EXCLUSIVE").connect() as connection,
    ):
        if connection.dialect.name == "sqlite":
            # a table that a migration rebuilds must not take the rows below it along; the
            # connection is not used again
            connection.detach()
            connection.connection.cursor().execute("PRAGMA foreign_keys=OFF")
        with connection.begin():
            if connection.dialect.name == "postgresql":
                connection.execute(
                    text("SELECT pg_advisory_xact_lock(:key)"), {"key": ADVISORY_LOCK}
                )
            if _checked_revision(connection) != newest:  # another process may have been first
                command.upgrade(_config(connection), "head")
    return newest


def create(connection: Connection) -> None:
    """This version's tables in an empty database, within the caller's transaction."""
    from alembic import command

    command.upgrade(_config(connection), "head")


def known(revision: str) -> bool:
    """Whether this version of the code can upgrade a database of `revision`."""
    return revision in _revisions()


def head() -> str:
    """The revision that this version of the code works with."""
    return _revisions()[-1]


def revision(engine: Engine) -> str | None:
    """The database's revision, None when it is empty. Raises Unreachable, SchemaTooNew."""
    with clear_errors(engine), engine.connect() as connection:
        return _checked_revision(connection)


def _revisions() -> list[str]:
    """All revisions, the oldest first: the names of their files begin with them.

    Alembic reads every file for the same answer, and its import takes longer than most commands.
    """
    return sorted(
        path.name.partition("_")[0] for path in (MIGRATIONS / "versions").glob("[0-9]*.py")
    )


def _checked_revision(connection: Connection) -> str | None:
    if not inspect(connection).has_table("alembic_version"):
        return None
    found: str | None = connection.scalar(text("SELECT version_num FROM alembic_version"))
    if found is not None and not known(found):
        raise SchemaTooNew(
            f"The database has schema {found}, but this ganboard supports schemas up to {head()}."
            " Update ganboard. The database was not changed."
        )
    return found


def _config(connection: Connection | None) -> Config:
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS).replace("%", "%%"))
    config.attributes["connection"] = connection
    return config
