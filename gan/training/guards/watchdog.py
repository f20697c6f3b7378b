"""Says when no step has ended for long, and ends what never will. Free of TensorFlow."""

from __future__ import annotations

import faulthandler
import sys
import threading
import time
import traceback
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Self

from ganboard.gan.events import Note, Sink

PATIENCE = 2.0  # times as long as the limit, then it hangs
USUAL = 20.0  # times as long as usual is no hang yet
REMEMBERED = 99  # waits of which the median is the usual one
FRAMES = 4


class Watchdog:
    """`with Watchdog(config.stall_seconds, sink, on_hang) as watchdog:` around the loop, and
    `watchdog.heartbeat()` whenever it moves.

    If `heartbeat` is not called for `seconds` (0: disabled), the stacks of all threads go to
    stderr, which is the run's log, and a warning to `sink`; when heartbeats return, an info. Once
    per stall. When none comes for PATIENCE times `seconds`, and for USUAL times the median wait of
    late, `on_hang` is called. Both are called from the watchdog's thread while the loop may be
    calling the sink too: it must allow that. What it raises is printed: the loop meets the same
    with its next event. A thread that stalls with the interpreter's lock in hand stops this thread
    too, but also the renewal of the run's lease.
    """

    def __init__(
        self, seconds: float, sink: Sink, on_hang: Callable[[], None] = lambda: None
    ) -> None:
        self._seconds, self._sink, self._on_hang = seconds, sink, on_hang
        self._waits: deque[float] = deque(maxlen=REMEMBERED)
        self._moved = threading.Event()
        self._paused = self._ended = False
        self._thread = threading.Thread(target=self._watch, name="watchdog", daemon=True)

    def __enter__(self) -> Self:
        self._loop = threading.get_ident()
        if self._seconds:
            self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended = True  # before the event, so that the thread cannot miss it
        self._moved.set()
        if self._seconds:
            self._thread.join()

    def heartbeat(self) -> None:
        """The loop moves: costs a microsecond."""
        self._moved.set()

    @contextmanager
    def paused(self) -> Iterator[None]:
        """For work that takes its time without taking steps, such as training the classifier that
        evaluates quality."""
        self.heartbeat()
        self._paused = True
        try:
            yield
        finally:
            self._paused = False
            self.heartbeat()

    def _watch(self) -> None:
        while True:
            self._moved.clear()
            if self._ended:
                return
            since = time.monotonic()
            if self._moved.wait(self._seconds):
                self._waits.append(time.monotonic() - since)
                continue
            if self._paused:
                continue
            faulthandler.dump_traceback(all_threads=True)
            self._say(Note("warning", self._stalled()))
            hangs_after = max(PATIENCE * self._seconds, USUAL * median(self._waits or [0.0]))
            while not self._moved.wait(max(0.0, since + hangs_after - time.monotonic())):
                if not self._paused:
                    self._on_hang()
                hangs_after += self._seconds
            if not self._ended:
                self._say(
                    Note(
                        "info",
                        f"Training continues after {time.monotonic() - since:.0f} s without a"
                        " finished step.",
                    )
                )

    def _stalled(self) -> str:
        return (
            f"No step has finished for {self._seconds:g} s (stall_seconds). The loop is in"
            f" {self._where()}; the stacks of all threads are in the run's log. After {PATIENCE:g}"
            " times as long, training restarts from the last checkpoint. If a step takes that long"
            " on this machine, lower batch_size or raise stall_seconds."
        )

    def _where(self) -> str:
        """The innermost calls of the loop's thread."""
        frames = traceback.extract_stack(sys._current_frames().get(self._loop))[-FRAMES:]
        return (
            " > ".join(
                f"{frame.name} ({Path(frame.filename).name}:{frame.lineno})" for frame in frames
            )
            or "no Python code"
        )

    def _say(self, note: Note) -> None:
        try:
            self._sink(note)
        except Exception:
            traceback.print_exc()
