"""`ganboard alerts send`: finds what rules are about and sends it, until it is asked to end.

`ganboard up` starts one as soon as there is a channel. Several may run: each message is claimed by
one of them.
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
from ganboard.db.alerts import channels, deliveries
from ganboard.db.alerts.deliveries import Claim
from ganboard.db.errors import DbError, UnknownAlert
from ganboard.db.models import ALERTS
from ganboard.worker import logs
from ganboard.worker.alerts import messages
from ganboard.worker.alerts.detection import Detector
from ganboard.worker.alerts.sending import SendError, send
from ganboard.worker.clear_errors import CLEAR_ERRORS
from ganboard.worker.context import Context, open_context
from ganboard.worker.formatting import plural
from ganboard.worker.process import health
from ganboard.worker.process.parent_death import die_with_named_parent

log = logging.getLogger("ganboard.alerts")

POLL_SECONDS = 2.0
LONGEST_PAUSE_SECONDS = 30.0  # while the database is unavailable
HEARTBEAT_SECONDS = 3.0


class Sender:
    """One process's work, in rounds."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._detector = Detector(context)
        self._name = f"{socket.gethostname()}:alerts:{os.getpid()}"
        self._next_heartbeat = 0.0

    def round(self) -> int:
        """Look for news, and send one message if one is due; returns how many were tried. Raises
        errors of the database."""
        self._heartbeat()
        self._detector.round()
        claimed = deliveries.claim(self._context.engine)
        if claimed is None:
            return 0
        deliver(self._context, claimed)
        return 1

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
            kind=ALERTS,
            host=socket.gethostname(),
            pid=os.getpid(),
            run_id=None,
        )


def deliver(context: Context, claimed: Claim) -> None:
    """Send a claimed message and store how that ended."""
    engine, channel = context.engine, claimed.channel
    message = messages.of(claimed, context.settings.public_url)
    try:
        send(context.settings, channel, channels.secret(engine, channel.id), message)
    except UnknownAlert as error:
        ours = deliveries.refused(engine, claimed, str(error))
    except SendError as error:
        log.warning("Channel %s: %s", channel.name, error)
        if error.temporary:
            ours = deliveries.failed(engine, claimed, str(error), pause=error.pause)
        else:
            ours = deliveries.refused(engine, claimed, str(error))
    else:
        log.info("Channel %s: sent %s.", channel.name, plural(len(claimed.alerts), "alert"))
        ours = deliveries.sent(engine, claimed)
    if not ours:
        log.warning("Channel %s: the claim had run out; the alert may arrive twice.", channel.name)


def serve(context: Context, ended: threading.Event) -> None:
    """Go round until `ended`; while the database is unavailable, more and more slowly."""
    sender = Sender(context)
    pause = POLL_SECONDS
    while not ended.is_set():
        try:
            busy = sender.round()
            pause = POLL_SECONDS
        except (SQLAlchemyError, DbError) as error:
            if pause == POLL_SECONDS:
                log.warning("The database is unavailable: %s", str(error).splitlines()[0])
            busy = 0
            pause = min(2 * pause, LONGEST_PAUSE_SECONDS)
        if not busy:
            ended.wait(pause)
    try:
        sender.end()
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
