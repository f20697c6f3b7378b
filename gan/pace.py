"""How many steps one call of the training step takes, and what its first call cost beyond them. Free of TensorFlow."""

from __future__ import annotations

CALL_SECONDS = 0.4  # short enough that stop is obeyed at once and charts move, long enough that returning to Python costs nothing


class Pace:
    """Starts with single steps and then fills CALL_SECONDS, at most doubling from call to call."""

    def __init__(self) -> None:
        self.count = 1
        self._first: float | None = None
        self._settled = False

    def split(self, seconds: float, count: int) -> tuple[float, float]:
        """Divide the time of a call of `count` steps into (training, compiling); the second may take back from an earlier call.

        XLA compiles and libraries set up kernels during the first call. What it took beyond a later step of that epoch was not training.
        """
        excess = 0.0
        if self._first is None:
            self._first = seconds / count
        elif not self._settled:
            excess = max(0.0, self._first - seconds / count)
            self._settled = True
        if self._settled:
            self.count = max(1, min(2 * self.count, int(CALL_SECONDS * count / max(seconds, 1e-9))))
        return seconds - excess, excess

    def end_epoch(self) -> None:
        """Times of the next epoch say nothing about calls of this one."""
        self._settled = self._first is not None
