"""Dynamic batching: examples of requests that come within a few milliseconds go through the network
in one call."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float32]
Asked = tuple[Floats, "Future[Floats]"]

WAIT_SECONDS = 0.004  # for companions, once there is something to compute
MAX_WAITING = 1024  # examples


class Busy(Exception):
    """More waits already than can be answered soon."""


class Batches(threading.Thread):
    """Computes in its own thread, up to about `together` examples at a time; `compute` must treat
    each row for itself."""

    def __init__(
        self,
        compute: Callable[[Floats], Floats],
        together: int,
        on_batch: Callable[[int], None] = lambda rows: None,
    ) -> None:
        super().__init__(name="batches", daemon=True)
        self._compute, self._together, self._on_batch = compute, together, on_batch
        self._queue: queue.SimpleQueue[Asked | None] = queue.SimpleQueue()
        # examples requested and not yet answered
        self._lock, self.waiting = threading.Lock(), 0

    def ask(self, inputs: Floats) -> Future[Floats]:
        """What `compute` makes of these rows [n, ...], to come. Raises Busy."""
        with self._lock:
            if self.waiting + len(inputs) > MAX_WAITING:
                raise Busy
            self.waiting += len(inputs)
        future: Future[Floats] = Future()
        self._queue.put((inputs, future))
        return future

    def end(self) -> None:
        """Compute what was asked before, and return when that is done."""
        self._queue.put(None)
        self.join()

    def run(self) -> None:
        while (first := self._queue.get()) is not None:
            asked, over = [first], False
            deadline = time.monotonic() + WAIT_SECONDS
            while not over and sum(len(inputs) for inputs, _ in asked) < self._together:
                try:
                    more = self._queue.get(timeout=max(0.0, deadline - time.monotonic()))
                except queue.Empty:
                    break
                over = more is None
                asked += [more] if more is not None else []
            self._reply(asked)
            if over:
                return

    def _reply(self, asked: Sequence[Asked]) -> None:
        wanted = [one for one in asked if one[1].set_running_or_notify_cancel()]
        sizes = [len(inputs) for inputs, _ in wanted]
        if wanted:
            self._on_batch(sum(sizes))
            try:
                made = np.split(
                    self._compute(np.concatenate([inputs for inputs, _ in wanted])),
                    np.cumsum(sizes)[:-1],
                )
            except Exception as error:  # reported to each request; the thread continues
                for _, future in wanted:
                    future.set_exception(error)
            else:
                for (_, future), part in zip(wanted, made, strict=True):
                    future.set_result(part)
        with self._lock:
            self.waiting -= sum(len(inputs) for inputs, _ in asked)
