"""One state of a home in the place of another, decided by the database's own atomic step; what a
kill cuts short is completed or undone.

HOME/restore.json says that an exchange has begun, with a number; HOME/restore-<number>.tmp/ holds
the new files. The new database bears the number, so whether it is in place is seen from itself.
Whatever needs the state calls `recover` before.
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import shutil
import sqlite3
from collections.abc import Collection, Iterator
from contextlib import closing, contextmanager, nullcontext
from datetime import datetime
from pathlib import Path
from typing import IO

from filelock import FileLock, Timeout
from sqlalchemy import Engine

from ganboard.db import replacement, transfer
from ganboard.db.engine import clear_errors, make_engine
from ganboard.db.errors import DbError
from ganboard.db.settings import Settings
from ganboard.gan import files
from ganboard.worker.errors import WorkerError

JOURNAL, LOCK = "restore.json", "restore.lock"


class RestoreRefused(WorkerError):
    """The place is not one to restore into; the message is one sentence."""


class AtomicSwap:
    """Begun with `begin`, decided in `swap`, ended by `conclude`."""

    def __init__(self, settings: Settings, token: int, aside: str | None, database: str) -> None:
        self._settings, self._token, self._database = settings, token, database
        self.staging = settings.state / f"restore-{token}.tmp"
        self.aside = settings.state / aside if aside else None
        self._engine = make_engine(settings.database, pooled=False)
        self._file = (
            Path(self._engine.url.database or "") if self._engine.dialect.name == "sqlite" else None
        )
        self._new = self._file and self._file.with_name(f"{self._file.name}-restore-{token}.tmp")

    @classmethod
    def begin(cls, settings: Settings, journal: IO[str], *, keep: bool) -> AtomicSwap:
        """`keep` puts the old state aside."""
        name = f"before-restore-{datetime.now().astimezone():%Y%m%d-%H%M%S}"
        while (settings.state / name).exists():
            name += "-more"
        aside = name if keep else None
        made = cls(settings, secrets.randbelow(2**31 - 1) + 1, aside, _digest(settings.database))
        json.dump({"token": made._token, "aside": aside, "database": made._database}, journal)
        journal.flush()
        os.fsync(journal.fileno())
        files.flush_directory(settings.state)
        (made.staging / "runs").mkdir(parents=True)
        return made

    @classmethod
    def read(cls, settings: Settings, journal: IO[str]) -> AtomicSwap | None:
        """What a journal records; None if the process was killed before writing it."""
        try:
            journalled = json.load(journal)
        except ValueError:
            return None
        if journalled["database"] != _digest(settings.database):
            raise RestoreRefused(
                "A restore into another database was interrupted. Set GANBOARD_DATABASE_URL to"
                " that database and try again."
            )
        return cls(settings, journalled["token"], journalled["aside"], journalled["database"])

    def swap(
        self, copy: Engine, here: Collection[transfer.CheckpointKey], progress: transfer.Progress
    ) -> transfer.Loaded:
        """Load the copy and put it in place of the database."""
        if self.aside:
            self.aside.mkdir()
        if self._file is None or self._new is None:
            with clear_errors(self._engine), self._engine.begin() as connection:
                replacement.make_way(
                    connection, self.aside.name.replace("-", "_") if self.aside else None
                )
                loaded = transfer.load(copy, connection, here, progress)
                replacement.mark(connection, self._token)
                os.sync()  # the new files are on disk before the database says so
            return loaded
        engine = make_engine(f"sqlite:///{self._new}", pooled=False)
        with engine.begin() as connection:
            loaded = transfer.load(copy, connection, here, progress)
            replacement.mark(connection, self._token)
        transfer.save_settled(engine)
        with alone(self._file) if self._file.exists() else nullcontext():
            for path in _with_logs(self._file) if self.aside else ():
                _link(path, self.aside / path.name)  # type: ignore[operator]
            os.sync()
            os.replace(self._new, self._file)
            files.flush_directory(self._file.parent)
        return loaded

    def conclude(self) -> None:
        """Complete the exchange if the new database is in place, else undo what was prepared for
        it. May be repeated."""
        runs = self._settings.state / "runs"
        if replacement.marked(self._engine, self._token):
            if (self.staging / "runs").exists():
                if self.aside and runs.exists() and not (self.aside / "runs").exists():
                    runs.rename(self.aside / "runs")
                (self.staging / "runs").rename(runs)  # over an empty folder, if there is one
            # the old database's, never the new one's
            for path in _with_logs(self._file)[1:] if self._file and self.aside else ():
                if (self.aside / path.name).exists() and path.samefile(self.aside / path.name):  # type: ignore[operator]
                    path.unlink()
        else:
            for path in _with_logs(self._new) if self._new else ():
                path.unlink(missing_ok=True)
            if self.aside:
                shutil.rmtree(self.aside, ignore_errors=True)
        files.flush_directory(self._settings.state)
        shutil.rmtree(self.staging, ignore_errors=True)


def check_free(settings: Settings, *, force: bool) -> bool:
    """Whether there is an old state to be put aside. Raises RestoreRefused if that was not
    requested, or if it is in use."""
    engine = make_engine(settings.database, pooled=False)
    file = Path(engine.url.database or "") if engine.dialect.name == "sqlite" else None
    folders = (
        sum(1 for _ in (settings.state / "runs").iterdir())
        if (settings.state / "runs").is_dir()
        else 0
    )
    found = None
    if file is None or file.exists():
        try:
            found = replacement.occupants(engine)
        except DbError:
            if file is None or not force:
                raise
            # a damaged file may be what the restore is for: it is kept as it is
    if found and found.alive:
        raise RestoreRefused(
            f"{', '.join(found.alive)[:200]} still use this database. Stop them first."
        )
    held = folders or (found.runs or found.others if found else file is not None and file.exists())
    if held and not force:
        what = (
            f"runs ({found.runs:,})"
            if found and found.runs
            else f"folders in runs/ ({folders:,})"
            if folders
            else "studies, views or models"
        )
        raise RestoreRefused(
            f"{settings.state} and its database already contain {what}. Set GANBOARD_HOME (and"
            " GANBOARD_DATABASE_URL) to new locations, or use --force to set the old state aside."
        )
    if file is not None and file.exists():
        with alone(file):
            pass
    return bool(held)


@contextmanager
def alone(file: Path) -> Iterator[None]:
    """With exclusive access to the SQLite database; its log is checkpointed. Raises
    RestoreRefused."""
    with closing(sqlite3.connect(file, isolation_level=None, timeout=2)) as connection:
        try:
            connection.execute("PRAGMA locking_mode=EXCLUSIVE")
            connection.execute("PRAGMA journal_mode=DELETE")
            connection.execute("BEGIN EXCLUSIVE")
        except sqlite3.OperationalError as error:
            if "locked" in str(error):
                raise RestoreRefused(
                    f"{file} is still in use. Stop `ganboard up`, workers and other commands first."
                ) from None
        except sqlite3.DatabaseError:
            pass  # it is damaged, so it is not in use
        yield


def _with_logs(file: Path) -> list[Path]:
    """The database and, as far as they are there, what SQLite keeps beside it."""
    return [
        file,
        *(path for suffix in ("-wal", "-shm") if (path := Path(f"{file}{suffix}")).exists()),
    ]


def _link(path: Path, to: Path) -> None:
    if not path.exists():
        return
    try:
        os.link(path, to)
    except OSError:  # this file system has no links
        shutil.copy2(path, to)


def _digest(url: str) -> str:
    return hashlib.sha256(url.encode()).hexdigest()


def recover(settings: Settings) -> None:
    """Complete or undo a restore that was cut short. Raises RestoreRefused while one is under
    way."""
    path = settings.state / JOURNAL
    if not path.exists():
        return
    with alone_restoring(settings):
        if path.exists():  # another may have been first
            with path.open() as journal:
                swap = AtomicSwap.read(settings, journal)
            conclude(swap, path)


def conclude(swap: AtomicSwap | None, journal: Path) -> None:
    if swap is not None:
        swap.conclude()
    journal.unlink()
    files.flush_directory(journal.parent)


@contextmanager
def alone_restoring(settings: Settings) -> Iterator[None]:
    """Hold the lock of restores into this home. Raises RestoreRefused when somebody else does."""
    try:
        lock = FileLock(settings.state / LOCK).acquire(blocking=False)
    except Timeout:
        raise RestoreRefused(
            "A restore is in progress in this GANBOARD_HOME. Wait until it has finished."
        ) from None
    with lock:
        yield
