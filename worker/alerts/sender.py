"""`ganboard alerts send`: finds what rules are about and sends it, until it is asked to end.

`ganboard up` starts one as soon as there is a channel. Several may run: each message is claimed by
one of them.
"""

from __future__ import annotations

import logging
import sys
import threading

from ganboard.db.alerts import channels, deliveries
from ganboard.db.alerts.deliveries import Claim
from ganboard.db.errors import UnknownAlert
from ganboard.db.models import ALERTS
from ganboard.worker import rounds
from ganboard.worker.alerts import messages
from ganboard.worker.alerts.detection import Detector
from ganboard.worker.alerts.sending import SendError, send
from ganboard.worker.clear_errors import CLEAR_ERRORS
from ganboard.worker.context import Context
from ganboard.worker.formatting import plural

log = logging.getLogger("ganboard.alerts")


class Sender:
    """One process's work, in rounds."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._detector = Detector(context)

    def round(self) -> int:
        """Look for news, and send one message if one is due; returns how many were tried. Raises
        errors of the database."""
        self._detector.round()
        claimed = deliveries.claim(self._context.engine)
        if claimed is None:
            return 0
        deliver(self._context, claimed)
        return 1


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
    """Go round until `ended`."""
    rounds.serve(context, ALERTS, Sender(context).round, ended)


def main() -> int:
    """Serve until SIGINT or SIGTERM."""
    return rounds.run(serve)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except CLEAR_ERRORS as error:
        print(f"ganboard: {error}", file=sys.stderr)  # noqa: T201
        sys.exit(1)
