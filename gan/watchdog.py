"""Says when no step has ended for long, and leaves every thread's stack in the log. Free of TensorFlow."""

from __future__ import annotations

import faulthandler
import os
import threading
import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Self

from gan.events import Note, Sink


class Watchdog:
    """`with Watchdog(config.stall_seconds, sink) as watchdog:` around the loop, and `watchdog.beat()` whenever it has got somewhere.

    When no beat comes for `seconds` (0: never looks), the stacks of all threads go to stderr, which is the run's log, and a warning to
    `sink`; when beats return, an info. Once per stall. `sink` is called from the watchdog's thread while the loop may be calling it too:
    it must allow that (a database sink with a session per event does). What it raises is printed: the loop meets the same with its next
    event. A thread that stalls with the interpreter's lock in hand stops this thread too, but also the renewal of the run's lease.
    """

    def __init__(self, seconds: float, sink: Sink) -> None:
        self._seconds, self._sink = seconds, sink
        self._moved = threading.Event()
        self._paused = self._ended = False
        self._thread = threading.Thread(target=self._watch, name="watchdog", daemon=True)

    def __enter__(self) -> Self:
        if self._seconds:
            self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended = True  # before the event, so that the thread cannot miss it
        self._moved.set()
        if self._seconds:
            self._thread.join()

    def beat(self) -> None:
        """The loop moves: costs a microsecond."""
        self._moved.set()

    @contextmanager
    def paused(self) -> Iterator[None]:
        """For work that takes its time without taking steps, such as training the classifier that judges quality."""
        self.beat()
        self._paused = True
        try:
            yield
        finally:
            self._paused = False
            self.beat()

    def _watch(self) -> None:
        while True:
            self._moved.clear()
            if self._ended:
                return
            since = time.monotonic()
            if self._moved.wait(self._seconds) or self._paused:
                continue
            faulthandler.dump_traceback(all_threads=True)
            self._say(Note("warning", self._stalled()))
            self._moved.wait()
            if not self._ended:
                self._say(Note("info", f"Training moves again, after {time.monotonic() - since:.0f} s without a finished step."))

    def _stalled(self) -> str:
        me = os.getpid()
        return (
            f"No step has ended for {self._seconds:g} s (stall_seconds); the stacks of all threads are in the run's log. If it does not "
            f"move again, end process {me} (kill -9 {me}): the run goes on from its last checkpoint. If a step takes that long here, lower "
            "batch_size or raise stall_seconds."
        )

    def _say(self, note: Note) -> None:
        try:
            self._sink(note)
        except Exception:
            traceback.print_exc()
