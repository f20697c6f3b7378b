"""A run as another program recorded it. Nothing of it is trusted."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]


@dataclass
class Record:
    """What another program recorded of a run: points by name and step, a later one in place of an
    earlier one. Times are seconds since 1970."""

    scalars: dict[str, dict[int, tuple[float, float]]] = field(default_factory=dict)
    # time, edges [n + 1], counts [n]
    histograms: dict[str, dict[int, tuple[float, Floats, Floats]]] = field(default_factory=dict)
    # time and encoded pictures
    images: dict[str, dict[int, tuple[float, list[bytes]]]] = field(default_factory=dict)
    texts: dict[str, dict[int, tuple[float, str]]] = field(default_factory=dict)
    settings: dict[str, str | float | bool] = field(default_factory=dict)
    status: str = "finished"
    first: float = float("inf")  # time of the first and last event
    last: float = 0.0
    host: str = ""  # on which it was trained
    problems: list[str] = field(default_factory=list)  # as sentences
    identity: bytes = b""  # the same whenever the same run is read, and only then

    def forget(self, step: int) -> None:
        """Training was resumed: what was written of `step` and later ones is void."""
        for tags in (self.scalars, self.histograms, self.images, self.texts):
            for points in tags.values():
                for later in [known for known in points if known >= step]:
                    del points[later]

    def mark(self, at: float) -> None:
        """Something was recorded at this time."""
        self.first, self.last = min(self.first, at), max(self.last, at)

    def join(self, other: Record) -> None:
        """Add the settings of the same run, its end, and the metrics that were recorded with
        them."""
        self.settings = other.settings | self.settings
        self.scalars = other.scalars | self.scalars
        self.status = other.status
        self.problems += other.problems
        self.mark(other.first)
        self.mark(other.last)

    @property
    def empty(self) -> bool:
        return not (self.scalars or self.histograms or self.images)

    @property
    def is_settings(self) -> bool:
        """Whether it has settings, and nothing else but a value of each metric."""
        others = self.histograms or self.images or self.texts
        values = all(len(points) == 1 for points in self.scalars.values())
        return bool(self.settings) and values and not others
