"""A whole database as one SQLite file, whichever database it comes from, and back into SQLite or
PostgreSQL."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Collection, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy import Connection, Engine
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.exc import DBAPIError
from sqlmodel import Session, SQLModel, col, select

from ganboard.db import migrate
from ganboard.db.alerts import deliveries
from ganboard.db.clock import now
from ganboard.db.engine import TRASH_TOO, clear_errors, make_engine
from ganboard.db.errors import BadCopy
from ganboard.db.fence import note
from ganboard.db.models import (
    ACTIVE,
    AlertChannel,
    AlertDelivery,
    ApiToken,
    AuditEntry,
    Checkpoint,
    Event,
    Run,
    Worker,
)

PAGES = 2000  # of SQLite's, copied between two reports
ROWS = 500  # read, and written, together
Progress = Callable[[int], None]  # bytes that were done since the last call
CheckpointKey = tuple[str, int, int]  # run, step, attempt


@dataclass(frozen=True)
class Loaded:
    """What a database holds after `load`."""

    runs: frozenset[str]
    queued: int  # runs that trained when the copy was made
    lost_checkpoints: int  # listed in the copy, but without their files
    channels_off: int = 0  # of alerts, that were on


class _JsonText(sa.types.UserDefinedType[str]):
    """PostgreSQL's JSON as text, so that SQL's NULL and JSON's null stay apart."""

    cache_ok = True

    def bind_expression(self, bindvalue: Any) -> Any:
        return sa.cast(sa.type_coerce(bindvalue, sa.Text), JSONB)

    def column_expression(self, colexpr: Any) -> Any:
        return sa.cast(colexpr, sa.Text)


def snapshot(engine: Engine, path: Path, progress: Progress = lambda _: None) -> None:
    """Copy the database, as it is at one moment, into a new SQLite file. Writers are not held up.
    Raises Unreachable."""
    if engine.dialect.name == "sqlite":
        with (
            clear_errors(engine),
            engine.connect() as connection,
            closing(sqlite3.connect(path)) as target,
        ):
            # this read fixes the moment: later commits of others neither enter the copy nor make it
            # begin anew
            connection.exec_driver_sql("SELECT count(*) FROM alembic_version")
            source: Any = connection.connection.driver_connection
            size = source.execute("PRAGMA page_size").fetchone()[0]
            left = source.execute("PRAGMA page_count").fetchone()[0]

            def report(_: int, remaining: int, __: int) -> None:
                nonlocal left
                progress((left - remaining) * size)
                left = remaining

            source.backup(target, pages=PAGES, progress=report)
            target.execute("PRAGMA journal_mode=DELETE")
        return
    copy = make_engine(f"sqlite:///{path}", pooled=False)
    migrate.upgrade(copy)
    with clear_errors(engine), engine.connect() as connection:
        source_connection = connection.execution_options(
            isolation_level="REPEATABLE READ", postgresql_readonly=True
        )
        with source_connection.begin(), copy.begin() as target_connection:
            _copy_rows(source_connection, target_connection, progress)
    copy.dispose()
    _settle(path)


@contextmanager
def open_copy(path: Path) -> Iterator[Engine]:
    """A copy that strangers may have made, brought to this version's schema. Raises BadCopy and
    SchemaTooNew in one sentence."""
    try:
        with closing(sqlite3.connect(path)) as connection:
            connection.execute("PRAGMA trusted_schema=OFF")
            for kind, name, statement in connection.execute(
                "SELECT type, name, sql FROM sqlite_schema"
            ):
                if kind not in ("table", "index") or str(
                    statement or ""
                ).lstrip().upper().startswith("CREATE VIRTUAL"):
                    raise BadCopy(
                        f"its database contains the {kind} {str(name)[:60]!r}, which is not part"
                        " of ganboard"
                    )
            if (found := connection.execute("PRAGMA quick_check(1)").fetchone()[0]) != "ok":
                raise BadCopy(f"its database is damaged ({str(found)[:100]})")
    except sqlite3.Error as error:
        raise BadCopy(f"its database cannot be read ({error})") from None
    engine = make_engine(f"sqlite:///{path}", pooled=False)
    try:
        if migrate.revision(engine) is None:
            raise BadCopy("its database is empty")
        migrate.upgrade(engine)
        yield engine
    finally:
        engine.dispose()


def load(
    copy: Engine,
    target: Connection,
    here: Collection[CheckpointKey],
    progress: Progress = lambda _: None,
) -> Loaded:
    """Make this version's tables in an empty database and fill them from a copy, within the
    caller's transaction. Raises BadCopy.

    What trained is queued, workers are forgotten, alerts are switched off, tokens revoked, and
    checkpoints are listed only if they are among those that are `here`.
    """
    migrate.create(target)
    try:
        with copy.connect() as source:
            _copy_rows(source, target, progress)
        # its counters do not notice numbers that were given
        if target.dialect.name == "postgresql":
            for table in (Event, AuditEntry):
                counter = sa.func.pg_get_serial_sequence(table.__tablename__, "id")
                highest = target.scalar(sa.select(sa.func.max(table.id))) or 0
                target.execute(sa.select(sa.func.setval(counter, highest + 1, False)))
        with Session(target, expire_on_commit=False) as session:
            loaded = _adopt(session, here)
            session.flush()
    except (DBAPIError, ValueError, TypeError, LookupError) as error:
        cause = str(getattr(error, "orig", error)).strip().splitlines() or [type(error).__name__]
        raise BadCopy(
            f"its database has a value that cannot be stored ({cause[0][:200]})"
        ) from None
    return loaded


def save_settled(engine: Engine) -> None:
    """Close an SQLite database so that its file alone is all of it."""
    assert engine.url.database
    engine.dispose()
    _settle(Path(engine.url.database))


def _settle(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA journal_mode=DELETE")


def _copy_rows(source: Connection, target: Connection, progress: Progress) -> None:
    for table in SQLModel.metadata.sorted_tables:
        into = sa.insert(_plain(table, target))
        for part in (
            source.execution_options(yield_per=ROWS)
            .execute(sa.select(_plain(table, source)))
            .partitions()
        ):
            rows = [dict(row._mapping) for row in part]
            target.execute(into, rows)
            progress(sum(_size(value) for row in rows for value in row.values()))


def _plain(table: sa.Table, connection: Connection) -> sa.TableClause:
    """The table without defaults, its JSON as text."""
    text = _JsonText() if connection.dialect.name == "postgresql" else sa.Text()
    return sa.table(
        table.name,
        *(
            sa.column(c.name, text if isinstance(c.type, sa.JSON) else c.type)
            for c in table.columns
        ),
    )


def _size(value: Any) -> int:
    """About the bytes that a value takes."""
    return getattr(value, "nbytes", None) or (len(value) if isinstance(value, str | bytes) else 8)


def _adopt(session: Session, here: Collection[CheckpointKey]) -> Loaded:
    session.execute(sa.delete(Worker))
    # one that was revoked after the copy was made must not be valid again
    session.execute(sa.update(ApiToken).values(revoked_at=now()))
    channels_off = _switch_alerts_off(session)
    queued = 0
    for run in session.exec(select(Run).where(col(Run.status).in_(ACTIVE))):
        run.worker = run.lease_until = run.phase = None
        if run.stop_requested_at is not None:
            run.status, run.ended_at = "stopped", now()  # type: ignore[assignment]
            note(
                session,
                run.id,
                run.attempt,
                "info",
                "Restored from a backup made during training. Stopped as requested.",
            )
        elif run.external:
            run.status, run.ended_at = "failed", now()  # type: ignore[assignment]
            run.error = (
                "The backup was made while the script trained. Its later reports are missing."
            )
            note(session, run.id, run.attempt, "warning", run.error)
        else:
            run.status, run.queued_at = "queued", now()  # type: ignore[assignment]
            queued += 1
            sentence = (
                "Restored from a backup made during training. Resuming from the latest checkpoint."
            )
            note(session, run.id, run.attempt, "info", sentence)
    lost = 0
    for checkpoint in session.exec(select(Checkpoint)):
        if (checkpoint.run_id, checkpoint.step, checkpoint.attempt) not in here:
            session.delete(checkpoint)
            lost += 1
        else:
            checkpoint.machine = None  # they are here now, wherever they were
    runs = frozenset(session.exec(select(Run.id), execution_options=TRASH_TOO))
    return Loaded(runs, queued, lost, channels_off)


def _switch_alerts_off(session: Session) -> int:
    """A copy that is opened to be looked at must send nothing; what was waiting has been sent.
    Returns how many channels were on."""
    on = session.scalars(
        sa.update(AlertChannel)
        .where(col(AlertChannel.enabled))
        .values(enabled=False)
        .returning(col(AlertChannel.id))
    ).all()
    waiting = col(AlertDelivery.state) == deliveries.WAITING
    session.execute(
        sa.update(AlertDelivery)
        .where(waiting)
        .values(state=deliveries.CANCELLED, claimed_until=None)
        .execution_options(synchronize_session=False)
    )
    return len(on)
