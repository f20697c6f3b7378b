"""`ganboard claims work`: submits the runs of claims and gives verdicts, until it is asked to end.

`ganboard up` starts one as soon as a claim is open. Several may run.
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
from ganboard.db.models import CLAIMS
from ganboard.worker import logs
from ganboard.worker.claims import driver
from ganboard.worker.clear_errors import CLEAR_ERRORS
from ganboard.worker.context import Context, open_context
from ganboard.worker.process import health
from ganboard.worker.process.parent_death import die_with_named_parent

log = logging.getLogger("ganboard.claims")

POLL_SECONDS = 2.0
LONGEST_PAUSE_SECONDS = 30.0  # while the database is unavailable
HEARTBEAT_SECONDS = 3.0


def serve(context: Context, ended: threading.Event) -> None:
    """Go on with open claims until `ended`; while the database is unavailable, more and more
    slowly."""
    name = f"{socket.gethostname()}:claims:{os.getpid()}"
    pause = POLL_SECONDS
    next_heartbeat = 0.0
    while not ended.is_set():
        try:
            if time.monotonic() >= next_heartbeat:
                next_heartbeat = time.monotonic() + HEARTBEAT_SECONDS
                _heartbeat(context, name)
            driver.advance(context)
            pause = POLL_SECONDS
        except (SQLAlchemyError, DbError) as error:
            if pause == POLL_SECONDS:
                log.warning("The database is unavailable: %s", str(error).splitlines()[0])
            pause = min(2 * pause, LONGEST_PAUSE_SECONDS)
        ended.wait(pause)
    try:
        heartbeats.forget(context.engine, name=name)
    except SQLAlchemyError:
        log.warning("The database is unavailable at the end.")


def _heartbeat(context: Context, name: str) -> None:
    health.touch(context.settings)
    heartbeats.record(
        context.engine,
        name=name,
        kind=CLAIMS,
        host=socket.gethostname(),
        pid=os.getpid(),
        run_id=None,
    )


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
