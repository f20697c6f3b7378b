"""Waiting without sleeping blindly: a condition and a deadline."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def wait_until(
    condition: Callable[[], T], *, seconds: float, every: float = 0.05, what: str = "the condition"
) -> T:
    """The first true value of `condition`; fails after `seconds`."""
    deadline = time.monotonic() + seconds
    while not (value := condition()):
        assert time.monotonic() < deadline, f"{what} did not come true within {seconds} s"
        time.sleep(every)
    return value
