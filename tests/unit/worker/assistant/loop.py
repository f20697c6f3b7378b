"""Coroutines in tests that share their process with those of a browser, which leave a loop running
in the main thread."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from anyio.from_thread import start_blocking_portal


def in_a_loop(function: Callable[[], Awaitable[Any]]) -> Any:
    """What the coroutine returns, in a loop and thread of its own."""
    with start_blocking_portal() as portal:
        return portal.call(function)
