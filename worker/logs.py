"""What our processes log, in one form: text for people, or with GANBOARD_LOG_FORMAT=json one object
per line.

Everything goes through Python's logging, RQ's, alembic's and uvicorn's words too. A process that
the supervisor started knows its log file by GANBOARD_LOG_FILE and keeps it below a limit: it
renames the full file and puts a new one in the place of its own standard output, for C libraries as
well. What was written before went into the old file, what follows goes into the new one: nothing is
lost.
"""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Iterator, MutableMapping
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import orjson

from ganboard.db.settings import Settings, SettingsError
from ganboard.worker import safe_files

FILE = "GANBOARD_LOG_FILE"  # set by the supervisor for its children
MAX_BYTES = 10_000_000  # of a log file
OF_RUN = "%(asctime)s %(levelname)s %(message)s"  # a line of a run's log
KEPT = 3  # full files beside it: worker-1.log.1 is the newest
_bound: dict[str, Any] = {}


def configure(*, text: str = "%(asctime)s %(message)s") -> None:
    """Send all logging of this process to standard output, or to its log file; `text` is the form
    for people."""
    file = Path(os.environ.get(FILE) or os.devnull)
    # a trainer inherits the variable, but writes into its run's log
    own = file.is_file() and os.path.samestat(file.stat(), os.fstat(1))
    handler = _Rotating(file) if own else logging.StreamHandler(sys.stdout)
    handler.setFormatter(_json() if as_json() else logging.Formatter(text))
    logging.basicConfig(level=logging.INFO, handlers=[handler], force=True)
    logging.captureWarnings(True)
    for name in ("alembic", "aiobotocore", "botocore"):
        logging.getLogger(name).setLevel(logging.WARNING)


LIBRARIES = ("tensorflow", "absl")  # that log their own progress: every exchange they plan


def quiet_libraries() -> None:
    """Leave out what libraries log below a warning."""
    for name in LIBRARIES:
        logging.getLogger(name).setLevel(logging.WARNING)


@contextmanager
def copied_to(path: Path) -> Iterator[None]:
    """Write what this process logs into `path` too, for one that has a terminal and no log."""
    path.parent.mkdir(parents=True, exist_ok=True)
    root = logging.getLogger()
    level = root.level
    with open(path, "a", encoding="utf-8", opener=safe_files.no_link) as file:
        copy = logging.StreamHandler(file)
        copy.setFormatter(_json() if as_json() else logging.Formatter(OF_RUN))
        added: list[logging.Handler] = [copy]
        if not root.handlers:  # the terminal keeps what Python shows there without any
            terminal = logging.StreamHandler()
            terminal.setLevel(logging.WARNING)
            added.append(terminal)
        for handler in added:
            root.addHandler(handler)
        root.setLevel(logging.INFO)
        quiet_libraries()
        try:
            yield
        finally:
            root.setLevel(level)
            for handler in added:
                root.removeHandler(handler)


def as_json() -> bool:
    """Whether GANBOARD_LOG_FORMAT asks for JSON; an environment that cannot be read is complained
    of elsewhere."""
    try:
        return Settings().json_logs
    except SettingsError:
        return False


def bind(**values: Any) -> None:
    """Have every later line of this process say so: the run and the attempt, where it serves one.

    Not a context variable: lease, watchdog and sampler are threads, which inherit none.
    """
    _bound.update(values)


def line(message: str, **values: Any) -> str:
    """One line of a log that is not this process's own."""
    if not as_json():
        return message
    entry = {
        "time": datetime.now(UTC).isoformat(),
        "level": "info",
        "logger": "ganboard",
        "event": message,
        **values,
    }
    return orjson.dumps(entry).decode()


def as_text(line: str) -> str:
    """A line of a log for people: an object as time, level and words, anything else as it is."""
    if not line.startswith("{"):
        return line
    try:
        entry = orjson.loads(line)
        return (
            f"{entry['time'][:19].replace('T', ' ')} {entry['level'].upper()} {entry['event']}"
            + (f"\n{entry['exception']}" if "exception" in entry else "")
        )
    except (orjson.JSONDecodeError, KeyError, TypeError, AttributeError):
        return line


def rotate(path: Path) -> None:
    """Make room at `path` by renaming what is there, and forget the oldest."""
    for number in range(KEPT, 1, -1):
        older = path.with_name(f"{path.name}.{number - 1}")
        if older.exists():
            os.replace(older, path.with_name(f"{path.name}.{number}"))
    os.replace(path, path.with_name(f"{path.name}.1"))


class _Rotating(logging.StreamHandler[Any]):
    """Standard output, which is a file: changed for a new one when it is full, or when another
    process of ours did so."""

    def __init__(self, path: Path) -> None:
        super().__init__(sys.stdout)
        self._path = path

    def emit(self, record: logging.LogRecord) -> None:
        # a full disk, or a folder that is gone: the file that is open is still there
        with suppress(OSError):
            self._follow()
        super().emit(record)

    def _follow(self) -> None:
        path, ours = self._path, os.fstat(1)
        if ours.st_size < MAX_BYTES and path.exists() and os.path.samestat(ours, path.stat()):
            return
        from filelock import FileLock

        # a work-horse shares its worker's file
        with FileLock(path.with_name(f".{path.name}.lock")):
            if path.exists() and path.stat().st_size >= MAX_BYTES:
                rotate(path)
            self.flush()
            new = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
            for descriptor in (1, 2):
                if os.path.samestat(os.fstat(descriptor), ours):
                    os.dup2(new, descriptor)
            os.close(new)


def _json() -> logging.Formatter:
    import structlog  # with rich and pygments: 8 MB that logs as text do without

    return structlog.stdlib.ProcessorFormatter(
        foreign_pre_chain=[
            structlog.stdlib.add_log_level,
            structlog.stdlib.add_logger_name,
            structlog.processors.TimeStamper(fmt="iso", utc=True, key="time"),
            _facts,
        ],
        processors=[
            structlog.stdlib.ProcessorFormatter.remove_processors_meta,
            structlog.processors.format_exc_info,
            _in_order,
            structlog.processors.JSONRenderer(
                serializer=lambda entry, **_: orjson.dumps(entry, default=str).decode()
            ),
        ],
    )


def _facts(_: Any, __: str, entry: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    return {**entry, **_bound}


def _in_order(_: Any, __: str, entry: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    first = ("time", "level", "logger", "event")
    return {**{name: entry[name] for name in first if name in entry}, **entry}
