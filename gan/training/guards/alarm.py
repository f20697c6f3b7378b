"""What makes a monitor speak: once when its metrics become bad, and again when they have
recovered."""

from __future__ import annotations

from dataclasses import dataclass

from ganboard.gan.events import Note


@dataclass
class Alarm:
    """Warns when metrics are bad `patience` times in a row, and then not before they were good as
    often."""

    patience: int = 1
    _bad: int = 0
    _good: int = 0
    _on: bool = False

    def notes(self, bad: bool, good: bool, warning: str, relief: str) -> list[Note]:
        self._bad, self._good = bad * (self._bad + 1), good * (self._good + 1)
        if not self._on and self._bad >= self.patience:
            self._on = True
            return [Note("warning", warning)]
        if self._on and self._good >= self.patience:
            self._on = False
            return [Note("info", relief)]
        return []
