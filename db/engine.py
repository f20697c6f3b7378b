"""Connections to SQLite (WAL) and PostgreSQL, and the two kinds of transaction: `reading` and
`writing`, whose SELECTs leave out the runs in the trash."""

from __future__ import annotations

import os
import random
import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import orjson
from sqlalchemy import Engine, create_engine, event
from sqlalchemy.engine import make_url
from sqlalchemy.exc import DBAPIError, DisconnectionError
from sqlalchemy.orm import ORMExecuteState, with_loader_criteria
from sqlalchemy.pool import ConnectionPoolEntry, NullPool
from sqlmodel import Session, col

from ganboard.db.errors import Unreachable
from ganboard.db.models import Run

BUSY_MILLISECONDS = 10_000
# Of PostgreSQL: a host that is cut off or stopped within a transaction must not keep its row locks,
# which would hide that its lease has run out. A transaction of ours takes milliseconds.
IDLE_MILLISECONDS = 30_000
_KEEPALIVES = {"tcp_keepalives_idle": 5, "tcp_keepalives_interval": 2, "tcp_keepalives_count": 3}
PORTION = 500  # rows that a SELECT of thousands has in memory at once, where it says yield_per
# execution options of a SELECT that also finds the runs in the trash
TRASH_TOO = {"trash_too": True}
_OUTSIDE_TRASH = with_loader_criteria(Run, col(Run.deleted_at).is_(None))


def make_engine(url: str, *, pooled: bool = True) -> Engine:
    """An engine for `url`. `pooled=False` keeps no connection open between transactions: for
    processes that fork.

    Raises Unreachable when the driver for `url` is not installed.
    """
    options: dict[str, Any] = {
        "json_serializer": lambda value: orjson.dumps(value).decode(),
        "json_deserializer": orjson.loads,
    }
    if not pooled:
        options["poolclass"] = NullPool
    if make_url(url).get_backend_name() == "sqlite":
        engine = create_engine(url, **options)
        event.listen(engine, "connect", _prepare_sqlite)
        event.listen(engine, "begin", _begin_sqlite)
        _follow_file(engine)
        return engine
    if pooled:
        options["pool_pre_ping"] = True
    try:
        return create_engine(url, connect_args=_postgres_arguments(url), **options)
    except ModuleNotFoundError as error:
        raise Unreachable(
            f"PostgreSQL needs the package {error.name}: install ganboard[postgres]."
        ) from None


def _postgres_arguments(url: str) -> dict[str, Any]:
    settings = {"idle_in_transaction_session_timeout": IDLE_MILLISECONDS, **_KEEPALIVES}
    own = " ".join(f"-c {name}={value}" for name, value in settings.items())
    given = make_url(url).query.get("options", "")
    # the client's side of the same, so that a server that is gone is noticed as well
    ours = {"keepalives_idle": 5, "keepalives_interval": 2, "keepalives_count": 3}
    return {"connect_timeout": 5, "options": f"{own} {given}".strip(), **ours}


def _prepare_sqlite(connection: Any, _: Any) -> None:
    # the driver must not begin transactions: `_begin_sqlite` does
    connection.isolation_level = None
    # FULL: a power cut that took the last commits would leave a checkpoint that is newer than the
    # epochs, and resuming would leave a gap
    # 128 KiB of cache in place of two MiB, for each of a pool's connections: the operating system
    # has the pages as well, and a commit of another process empties it. With 512, twelve requests
    # at once left 4 MiB more, and no page was quicker
    for pragma in ("synchronous=FULL", "foreign_keys=ON", "cache_size=-128"):
        connection.execute(f"PRAGMA {pragma}")
    # of a new database: refused at once while another process creates its tables
    if not _done_when_free(connection, "PRAGMA journal_mode=WAL"):
        connection.execute("PRAGMA journal_mode=WAL")
    # SQLite's own knows the letters A to Z only; names are searched without regard to case in any
    # language
    connection.create_function("lower", 1, lambda text: text and text.lower(), deterministic=True)


def _begin_sqlite(connection: Any) -> None:
    # a transaction that reads before it writes must take the write lock first, or SQLite may refuse
    # it at once
    lock = connection.get_execution_options().get("sqlite_lock", "")
    driver = connection.connection.dbapi_connection
    if lock and _done_when_free(driver, "BEGIN IMMEDIATE"):
        return
    connection.exec_driver_sql(f"BEGIN {lock}")


def _done_when_free(driver: sqlite3.Connection, statement: str) -> bool:
    """Execute what needs the write lock, asking every few milliseconds; False if it is never free
    for BUSY_MILLISECONDS, or if anything else is wrong.

    SQLite itself asks every 100 ms only, and so hardly ever meets the short moments in which busy
    neighbours leave the lock free.
    """
    deadline = time.monotonic() + BUSY_MILLISECONDS / 1000
    driver.execute("PRAGMA busy_timeout=0")
    try:
        while time.monotonic() < deadline:
            try:
                driver.execute(statement)
                return True
            except sqlite3.OperationalError as error:
                # the low byte, without what makes it special
                if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY:
                    return False  # asked again, it says why in the usual way
            time.sleep(random.uniform(0.001, 0.005))
        return False
    finally:
        driver.execute(f"PRAGMA busy_timeout={BUSY_MILLISECONDS}")


def _follow_file(engine: Engine) -> None:
    """Once opened, the database is the file at its path: if that file is replaced, the new one is
    read; if it is gone, none is created. SQLite would keep using the file that was moved away, or
    create an empty database beside the log of the old one.
    """
    opened = False

    def connecting(*_: Any) -> None:
        if opened and _identity(engine) is None:
            raise sqlite3.OperationalError("the file is gone")

    def connected(_: Any, record: ConnectionPoolEntry) -> None:
        nonlocal opened
        record.info["file"] = _identity(engine)
        opened = opened or record.info["file"] is not None

    def checked_out(_: Any, record: ConnectionPoolEntry, __: Any) -> None:
        if record.info["file"] != _identity(engine):
            raise DisconnectionError("the file was moved or replaced")  # the pool connects anew

    event.listen(engine, "do_connect", connecting)
    event.listen(engine, "connect", connected)
    event.listen(engine, "checkout", checked_out)


def _identity(engine: Engine) -> tuple[int, int] | None:
    """Which file lies at the database's path; None if there is none, or it has no path."""
    try:
        found = os.stat(engine.url.database or "")
    except OSError:
        return None
    return found.st_dev, found.st_ino


@event.listens_for(Session, "do_orm_execute")
def _leave_out_trash(execution: ORMExecuteState) -> None:
    if (
        execution.is_select
        and not execution.is_column_load  # a refresh of what was found already
        and not execution.execution_options.get("trash_too")
    ):
        execution.statement = execution.statement.options(_OUTSIDE_TRASH)


@contextmanager
def reading(engine: Engine) -> Iterator[Session]:
    """A session for SELECTs; rows stay usable afterwards."""
    with Session(engine, expire_on_commit=False) as session:
        yield session


@contextmanager
def writing(engine: Engine) -> Iterator[Session]:
    """A session whose statements are committed together, or not at all.

    Raises what `before_writing` raises, an execution option of the engine: there the dashboard
    refuses those who may only look.
    """
    if check := engine.get_execution_options().get("before_writing"):
        check()
    with (
        Session(
            engine.execution_options(sqlite_lock="IMMEDIATE"), expire_on_commit=False
        ) as session,
        session.begin(),
    ):
        yield session


@contextmanager
def clear_errors(engine: Engine) -> Iterator[None]:
    """Turns an error of the database itself into Unreachable: one sentence without the password."""
    try:
        yield
    except DBAPIError as error:
        where = engine.url.render_as_string(hide_password=True)
        cause = next(iter(str(error.orig).strip().splitlines()), "no reason given").rstrip(".")
        raise Unreachable(
            f"The database {where} cannot be used ({cause}). Check GANBOARD_DATABASE_URL."
        ) from None
