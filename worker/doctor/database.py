"""The database: its schema, whether the file is whole and can be written, its clock, and runs
without a worker."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from sqlalchemy import Engine

from ganboard.db import migrate
from ganboard.db.engine import make_engine
from ganboard.db.errors import DbError, SchemaTooNew
from ganboard.db.models import ACTIVE
from ganboard.db.runs import expiry, queries
from ganboard.db.settings import Settings, SettingsError
from ganboard.worker.doctor.check import Check
from ganboard.worker.doctor.files import FIX
from ganboard.worker.process import clock

SKEW_SECONDS = 5.0
QUICK_CHECK_BYTES = 1e9  # a larger file is read with --deep only


def schema(settings: Settings, *, deep: bool = False) -> tuple[list[Check], Engine | None]:
    """Findings on the database as a whole, and an engine when this version's schema is there."""
    try:
        engine = make_engine(settings.database, pooled=False)
        where = engine.url.render_as_string(hide_password=True)
        if found := list(_file(engine, deep=deep)):
            return found, None
        revision, wanted = migrate.revision(engine), migrate.head()
    except SchemaTooNew as error:
        return [Check("database", "fail", "was written by a newer ganboard", str(error))], None
    except (DbError, SettingsError) as error:
        return [Check("database", "fail", "not usable", str(error))], None
    if revision == wanted:
        return [Check("database", "ok", f"{where}, schema {revision}")], engine
    return [
        Check(
            "database",
            "warn",
            f"{where}, schema {revision or 'still empty'}, not {wanted}",
            "Run: `ganboard db upgrade`",
        )
    ], None


def _file(engine: Engine, *, deep: bool) -> Iterator[Check]:
    """What is wrong with an SQLite file, before anything else opens it."""
    path = Path(engine.url.database or "")
    if engine.dialect.name != "sqlite" or not path.is_file():
        return
    if not (os.access(path, os.W_OK) and os.access(path.parent, os.W_OK)):
        log = Path(f"{path}-wal")
        left = (
            f"; {log.name} beside it holds commits that cannot be applied"
            if log.exists() and log.stat().st_size
            else ""
        )
        yield Check(
            "database",
            "fail",
            f"{path} or its folder cannot be written{left}",
            "Make the disk writable, or fix the owner.",
        )
        return
    if path.stat().st_size > QUICK_CHECK_BYTES and not deep:
        return
    try:
        with closing(sqlite3.connect(path, timeout=5)) as connection:
            said = connection.execute("PRAGMA quick_check(1)").fetchone()[0]
    except sqlite3.OperationalError:  # locked, for one: what follows says so
        return
    except sqlite3.DatabaseError as error:
        said = str(error)
    if said != "ok":
        said = " ".join(str(said).split())[:200]
        yield Check(
            "database",
            "fail",
            f"{path} is damaged ({said})",
            "Restore a backup: `ganboard restore BACKUP --force` sets this database aside.",
        )


def time(engine: Engine) -> Check:
    """This machine's clock against the database's."""
    skew = clock.difference(engine)
    if abs(skew) <= SKEW_SECONDS:
        return Check("clock", "ok", clock.described(skew))
    remedy = f"Leases use the database's clock, pages use this machine's. {clock.REMEDY}"
    return Check("clock", "warn", clock.described(skew), remedy)


def content(engine: Engine) -> Iterator[Check]:
    """Runs without an owner."""
    if dead := [
        run.id
        for run in queries.list_runs(engine, statuses=ACTIVE, archived=True)
        if _expired(engine, run.id)
    ]:
        remedy = f"A worker queues them again. If none is running: `ganboard up`. {FIX}"
        yield Check(
            "leases", "warn", f"marked as running without a worker: {', '.join(dead[:5])}", remedy
        )


def _expired(engine: Engine, run_id: str) -> bool:
    run = queries.get_run(engine, run_id)
    return run is not None and (
        run.lease_until is None or run.lease_until < queries.database_time(engine)
    )


def queue_again(engine: Engine) -> list[str]:
    """The runs that were queued again, or ended, since their lease had run out."""
    return expiry.expire_leases(engine)
