"""`ganboard search drive`: submits and prunes the runs of searches, until it is asked to end.

`ganboard up` starts one as soon as there is a search. It keeps nothing: several may run, and any
may be killed.
"""

from __future__ import annotations

import logging
import os
import signal
import socket
import sys
import threading
import time

from sqlalchemy.exc import SQLAlchemyError

from ganboard.db import heartbeats
from ganboard.db.errors import DbError
from ganboard.db.models import SEARCHES
from ganboard.db.searches import searches
from ganboard.gan.config import ConfigError
from ganboard.gan.data.dataset import DatasetError
from ganboard.worker import logs
from ganboard.worker.clear_errors import CLEAR_ERRORS
from ganboard.worker.context import Context, open_context
from ganboard.worker.process import health
from ganboard.worker.process.parent_death import die_with_named_parent
from ganboard.worker.searches import rounds

log = logging.getLogger("ganboard.searches")

POLL_SECONDS = 2.0
LONGEST_PAUSE_SECONDS = 30.0  # while the database is unavailable
HEARTBEAT_SECONDS = 3.0


class Driver:
    """One process's work, in rounds."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._name = f"{socket.gethostname()}:searches:{os.getpid()}"
        self._next_heartbeat = 0.0

    def round(self) -> int:
        """Look after every running search once; returns how many runs were submitted. Raises errors
        of the database."""
        self._heartbeat()
        made = 0
        for search in searches.running(self._context.engine):
            try:
                made += len(rounds.make(self._context, search))
                problem = None
            except (ConfigError, DatasetError) as error:
                problem = str(error)
            if problem != search.message:
                if problem:
                    log.warning("Search %s: %s", search.id, problem)
                searches.remark(self._context.engine, search.id, problem)
        return made

    def end(self) -> None:
        heartbeats.forget(self._context.engine, name=self._name)

    def _heartbeat(self) -> None:
        if time.monotonic() < self._next_heartbeat:
            return
        self._next_heartbeat = time.monotonic() + HEARTBEAT_SECONDS
        health.touch(self._context.settings)
        heartbeats.record(
            self._context.engine,
            name=self._name,
            kind=SEARCHES,
            host=socket.gethostname(),
            pid=os.getpid(),
            run_id=None,
        )


def serve(context: Context, ended: threading.Event) -> None:
    """Go round until `ended`; while the database is unavailable, more and more slowly."""
    driver = Driver(context)
    pause = POLL_SECONDS
    while not ended.is_set():
        try:
            driver.round()
            pause = POLL_SECONDS
        except (SQLAlchemyError, DbError) as error:
            if pause == POLL_SECONDS:
                log.warning("The database is unavailable: %s", str(error).splitlines()[0])
            pause = min(2 * pause, LONGEST_PAUSE_SECONDS)
        ended.wait(pause)
    try:
        driver.end()
    except SQLAlchemyError:
        log.warning("The database is unavailable at the end.")


def main() -> int:
    """Serve until SIGINT or SIGTERM."""
    die_with_named_parent()
    logs.configure()
    context = open_context()
    ended = threading.Event()
    for sig in (signal.SIGINT, signal.SIGTERM):
        signal.signal(sig, lambda *_: ended.set())
    serve(context, ended)
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except CLEAR_ERRORS as error:
        print(f"ganboard: {error}", file=sys.stderr)  # noqa: T201
        sys.exit(1)
