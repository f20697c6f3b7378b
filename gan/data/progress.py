"""How far the loading of data is. Light: no other module of ours is needed."""

from __future__ import annotations

import time
from collections.abc import Callable

# hears of the share done, what is being done, and the seconds left where they can be told
Progress = Callable[[float, str, float | None], None]


def ignore(share: float, doing: str, seconds_left: float | None) -> None:
    """Progress that nobody watches."""


def counted(progress: Progress, doing: str) -> Callable[[int, int], None]:
    """`progress` for work that counts (done, total) from now on, at the rate that it has so far."""
    began = time.monotonic()

    def report(done: int, total: int) -> None:
        left = (time.monotonic() - began) / done * (total - done) if done else None
        progress(done / total, doing, left)

    return report
