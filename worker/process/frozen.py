"""Processes that a signal or a debugger has stopped, and that keep what they hold: with SQLite's
write lock nobody else could go on."""

from __future__ import annotations

import time

import psutil

FROZEN_SECONDS = 30.0  # twice a lease: a debugger may stop a process for a moment
_STOPPED = {psutil.STATUS_STOPPED, psutil.STATUS_TRACING_STOP}


class Frozen:
    """Remembers since when a process, or one below it, is stopped."""

    def __init__(self) -> None:
        self._since: float | None = None

    def too_long(self, pid: int) -> bool:
        """Whether it has been stopped for FROZEN_SECONDS; to be asked again and again."""
        if not _stopped(pid):
            self._since = None
            return False
        self._since = self._since or time.monotonic()
        return time.monotonic() - self._since > FROZEN_SECONDS


def _stopped(pid: int) -> bool:
    try:
        process = psutil.Process(pid)
        everyone = [process, *process.children(recursive=True)]
        return any(each.status() in _STOPPED for each in everyone)
    except psutil.NoSuchProcess:  # one has ended meanwhile
        return False
