"""What a phase says of its progress, seldom enough for a database."""

from __future__ import annotations

import time

from ganboard.gan.events import PhaseProgress, Sink

EVERY = 1.0  # seconds between two reports


class PhaseReports:
    """A `gan.data.progress.Progress` that a sink hears; something else that is done is reported at
    once."""

    def __init__(self, sink: Sink) -> None:
        self._sink, self._doing, self._last = sink, "", 0.0

    def __call__(self, share: float, doing: str, seconds_left: float | None) -> None:
        now = time.monotonic()
        if doing == self._doing and now - self._last < EVERY:
            return
        self._doing, self._last = doing, now
        self._sink(PhaseProgress(share, doing, seconds_left))
