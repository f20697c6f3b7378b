"""Signals that ask a work-horse to end its run."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from ganboard.worker.training.process_group import ProcessGroup


class Interrupt:
    """Whether a signal came; it is passed on to rank 0 of the process group, which saves and
    ends."""

    def __init__(self) -> None:
        self.came = False
        self.group: ProcessGroup | None = None

    def __call__(self, signum: int, frame: FrameType | None) -> None:
        self.came = True
        if self.group is not None:
            self.group.terminate()


@contextmanager
def interrupts(*signals: signal.Signals) -> Iterator[Interrupt]:
    interrupt = Interrupt()
    before = {sig: signal.signal(sig, interrupt) for sig in signals}
    try:
        yield interrupt
    finally:
        for sig, handler in before.items():
            signal.signal(sig, handler)
