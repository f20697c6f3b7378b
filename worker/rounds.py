"""A process that looks after something in the database, round by round, until it is asked to end.

It keeps nothing that the database has not: several may run, and any may be killed.
"""

from __future__ import annotations

import logging
import os
import signal
import socket
import threading
import time
from collections.abc import Callable

from sqlalchemy.exc import SQLAlchemyError

from ganboard.db import heartbeats
from ganboard.db.errors import DbError
from ganboard.worker import logs
from ganboard.worker.context import Context, open_context
from ganboard.worker.process import health
from ganboard.worker.process.parent_death import die_with_named_parent

log = logging.getLogger("ganboard.worker")

POLL_SECONDS = 2.0
LONGEST_PAUSE_SECONDS = 30.0  # while the database is unavailable
HEARTBEAT_SECONDS = 3.0


def serve(context: Context, kind: str, take: Callable[[], int], ended: threading.Event) -> None:
    """Take rounds until `ended`, with a pause after each that did nothing; `take` returns how much
    was done. While the database is unavailable, more and more slowly. The heartbeat says that a
    process of this `kind` is alive."""
    name = f"{socket.gethostname()}:{kind}:{os.getpid()}"
    pause, next_heartbeat = POLL_SECONDS, 0.0
    while not ended.is_set():
        done = 0
        try:
            if time.monotonic() >= next_heartbeat:
                next_heartbeat = time.monotonic() + HEARTBEAT_SECONDS
                _beat(context, kind, name)
            done = take()
            pause = POLL_SECONDS
        except (SQLAlchemyError, DbError) as error:
            if pause == POLL_SECONDS:
                log.warning("The database is unavailable: %s", str(error).splitlines()[0])
            pause = min(2 * pause, LONGEST_PAUSE_SECONDS)
        if not done:
            ended.wait(pause)
    try:
        heartbeats.forget(context.engine, name=name)
    except SQLAlchemyError:
        log.warning("The database is unavailable at the end.")


def _beat(context: Context, kind: str, name: str) -> None:
    health.touch(context.settings)
    heartbeats.record(
        context.engine,
        name=name,
        kind=kind,
        host=socket.gethostname(),
        pid=os.getpid(),
        run_id=None,
    )


def run(serve_it: Callable[[Context, threading.Event], None]) -> int:
    """The process: `serve_it` until SIGINT or SIGTERM, or until the parent dies."""
    die_with_named_parent()
    logs.configure()
    context = open_context()
    ended = threading.Event()
    for sig in (signal.SIGINT, signal.SIGTERM):
        signal.signal(sig, lambda *_: ended.set())
    serve_it(context, ended)
    return 0
