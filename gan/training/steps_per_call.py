"""How many steps one call of the training step takes. Free of TensorFlow."""

from __future__ import annotations

# short enough that stop is obeyed at once and charts move, long enough that returning to Python
# costs nothing
CALL_SECONDS = 0.4


class StepsPerCall:
    """Starts with `unit` steps, which one program takes, and then fills CALL_SECONDS with such
    programs, at most doubling from call to call."""

    def __init__(self, unit: int = 1) -> None:
        self.count = self._unit = unit

    def update(self, seconds: float, count: int) -> None:
        """A call of `count` steps took `seconds`."""
        units = int(CALL_SECONDS * count / max(seconds, 1e-9) / self._unit)
        self.count = max(1, min(2 * self.count // self._unit, units)) * self._unit
