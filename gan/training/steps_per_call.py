"""How many steps one call of the training step takes. Free of TensorFlow."""

from __future__ import annotations

# short enough that stop is obeyed at once and charts move, long enough that returning to Python
# costs nothing
CALL_SECONDS = 0.4


class StepsPerCall:
    """Starts with single steps and then fills CALL_SECONDS, at most doubling from call to call."""

    def __init__(self) -> None:
        self.count = 1

    def update(self, seconds: float, count: int) -> None:
        """A call of `count` steps took `seconds`."""
        self.count = max(1, min(2 * self.count, int(CALL_SECONDS * count / max(seconds, 1e-9))))
