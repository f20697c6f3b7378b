"""The heartbeat file of a worker of either kind: a container's health check looks at its age,
without starting Python."""

from __future__ import annotations

import logging

from ganboard.db.settings import Settings

log = logging.getLogger("ganboard.worker")


def touch(settings: Settings) -> None:
    """Touch the file that GANBOARD_HEARTBEAT names, if any: this process's loop runs, whatever the
    database does."""
    if settings.heartbeat is None:
        return
    try:
        settings.heartbeat.touch()
    except OSError as error:
        log.warning(
            "GANBOARD_HEARTBEAT=%s cannot be written (%s). Choose a file in a writable folder.",
            settings.heartbeat,
            error.strerror,
        )
