"""Waiting without sleeping blindly: a condition and a deadline."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")
BUSY = 3  # how much longer things take on a machine that other tests keep busy


def wait_until(
    condition: Callable[[], T], *, seconds: float, every: float = 0.05, what: str = "the condition"
) -> T:
    """The first true value of `condition`; fails once BUSY times `seconds` have passed, which are
    those of a quiet machine."""
    deadline = time.monotonic() + BUSY * seconds
    while not (value := condition()):
        assert time.monotonic() < deadline, f"{what} did not come true within {BUSY * seconds} s"
        time.sleep(every)
    return value
