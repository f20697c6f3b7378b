"""Agreement between all processes of a run on the first one's numbers and state.

Each process runs the same loop, and a collective that one of them enters must be entered by all. So
whatever differs between processes and decides what is done next (the clock, the request to stop,
what lies on the disk) is taken from the first. Equal numbers need no agreement.
"""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import numpy.typing as npt
import tensorflow as tf


class Agreement:
    """Free of cost where `strategy` has one process only."""

    def __init__(self, strategy: tf.distribute.Strategy) -> None:
        self._strategy = strategy
        self._several = isinstance(strategy, tf.distribute.MultiWorkerMirroredStrategy)
        self.leads = not self._several or strategy.cluster_resolver.task_id == 0
        """Whether this is the first process: the only one that writes, draws and evaluates."""

    def numbers(self, *own: float) -> tuple[float, ...]:
        """The first process's numbers, in float64. All processes must call, with equally many: one
        small all-reduce."""
        return tuple(map(float, self._first(np.array(own)))) if self._several else own

    def number(self, own: int) -> int:
        """The first process's number; all processes must call."""
        return int(self.numbers(own)[0])

    def arrays(self, own: dict[str, npt.NDArray[Any]]) -> dict[str, npt.NDArray[Any]]:
        """The first process's arrays to the bit, whatever the others hold; all must call."""
        if not self._several:
            return own
        data = b""
        if self.leads:
            file = io.BytesIO()
            np.savez(file, allow_pickle=False, **own)
            data = file.getvalue()
        size = int(self.numbers(len(data))[0])
        # others hold zeros of the same size, and a sum with zeros keeps every bit of an integer
        words = np.frombuffer(data.ljust(-(-size // 8) * 8, b"\0"), np.int64)
        summed = self._first(words)
        if self.leads:
            return own
        with np.load(io.BytesIO(summed.tobytes()[:size]), allow_pickle=False) as found:
            return {name: found[name] for name in found.files}

    def _first(self, own: npt.NDArray[Any]) -> npt.NDArray[Any]:
        given = own if self.leads else np.zeros_like(own)
        summed: npt.NDArray[Any] = self._strategy.reduce(
            "SUM", tf.constant(given), axis=None
        ).numpy()
        return summed
