"""What a script logs, on its way from the training loop to reports.

The loop only appends to queues of bounded length, oldest first out; everything else is done by the
thread that calls `report`.
"""

from __future__ import annotations

import base64
import math
import time
from collections import deque
from datetime import UTC, datetime
from typing import Any, NamedTuple

from ganboard.worker.external.images import Sheet
from ganboard.worker.external.limits import MAX_LOG, MAX_METRICS, MAX_POINTS, MAX_TEXT

QUEUE = MAX_POINTS  # calls of `log` between two reports
SHEETS = 8
EVENTS = 500
HISTOGRAMS = 1000
LOG_CHARACTERS = 1 << 20  # between two reports

Losses = dict[str, list[float]]


class Point(NamedTuple):
    step: int
    time: float
    numbers: dict[str, float]


class EpochEnd(NamedTuple):
    epoch: int
    time: float
    step: int  # the newest that was logged
    numbers: dict[str, float]


class Collector:
    """Queues that a training loop fills, and reports that are made of them."""

    def __init__(self, *, batch_size: int) -> None:
        self.points: deque[Point] = deque(maxlen=QUEUE)
        self.epochs: deque[EpochEnd] = deque(maxlen=EVENTS)
        self.sheets: deque[tuple[int, float, Sheet]] = deque(maxlen=SHEETS)
        self.histograms: deque[dict[str, Any]] = deque(maxlen=HISTOGRAMS)
        self.events: deque[tuple[float, str, str]] = deque(maxlen=EVENTS)
        self.samples: deque[dict[str, Any]] = deque(maxlen=EVENTS)
        self.text: deque[str] = deque(maxlen=10_000)
        self.given = 0  # points, those that were dropped included
        self._taken = 0
        self._dropped = 0
        self._names: set[str] = set()
        self._spread: set[str] = set()  # names of histograms
        self._offset = 0  # bytes of the log
        self._batch_size = batch_size
        self._began = time.time()
        self._epoch_began = self._began
        self._epoch_step = 0
        self._losses: Losses = {"g_loss": [], "d_loss": []}
        self._number = 0

    def add_histogram(self, histogram: dict[str, Any]) -> None:
        """Raises ValueError for one name too many."""
        self._spread.add(histogram["name"])
        if len(self._spread) > MAX_METRICS:
            raise ValueError(f"a run has histograms of at most {MAX_METRICS} names.")
        self.histograms.append(histogram)

    def report(self, end: dict[str, Any] | None = None) -> dict[str, Any]:
        """All that was given since the report before, JSON-ready, as
        `worker.external.schema.Report` takes it."""
        self._number += 1
        ended = [self.epochs.popleft() for _ in range(len(self.epochs))]
        points = [self.points.popleft() for _ in range(len(self.points))]
        self._count(len(points))
        logged = self._logged(points, ended)
        epochs, steps = self._epochs(points, ended)
        found: dict[str, Any] = {"number": self._number, "seconds": time.time() - self._began}
        parts = {
            "logged": logged,
            "epochs": epochs,
            "steps_per_epoch": steps,
            "grids": [self._grid(*one) for one in _taken(self.sheets)],
            "histograms": _taken(self.histograms),
            "samples": _taken(self.samples),
            "events": [
                {"at": moment(at), "level": level, "text": text[:MAX_TEXT]}
                for at, level, text in _taken(self.events)
            ],
            "log": self._log(),
            "end": end,
        }
        return found | {name: part for name, part in parts.items() if part}

    def _count(self, taken: int) -> None:
        self._taken += taken
        dropped = self.given - self._taken - len(self.points)
        if dropped > self._dropped:
            self.events.append(
                (
                    time.time(),
                    "warning",
                    f"The script logs faster than its values are stored: {dropped:,} calls of log"
                    " were dropped so far, the oldest first. Log every n-th step.",
                )
            )
            self._dropped = dropped

    def _logged(self, points: list[Point], ended: list[EpochEnd]) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for step, at, numbers in points:
            for name, value in numbers.items():
                series = found.get(name) or self._series(found, name)
                if series is not None:
                    _append(series, step, at, value)
        for epoch in ended:
            for name, value in epoch.numbers.items():
                series = found.get(name) or self._series(found, name)
                if series is not None:
                    _append(series, epoch.step or epoch.epoch, epoch.time, value)
        return found

    def _series(self, found: dict[str, Any], name: str) -> dict[str, list[Any]] | None:
        if name not in self._names:
            if len(self._names) == MAX_METRICS:
                self._names.add("")  # say it once
                text = f"Metric {name} and further ones are not stored; the limit is {MAX_METRICS}."
                self.events.append((time.time(), "warning", text))
            if len(self._names) >= MAX_METRICS:
                return None
            self._names.add(name)
        series: dict[str, list[Any]] = {"steps": [], "times": [], "values": []}
        found[name] = series
        return series

    def _epochs(
        self, points: list[Point], ended: list[EpochEnd]
    ) -> tuple[list[dict[str, Any]], int | None]:
        """The epochs that ended, and the steps of one. Mean losses are those of the logged steps,
        or what the script says."""
        found, steps, place = [], None, 0
        for epoch in ended:
            while place < len(points) and points[place].time <= epoch.time:
                self._add(points[place])
                place += 1
            steps = max(0, epoch.step - self._epoch_step)
            losses = {
                name: epoch.numbers.get(name, _mean(values))
                for name, values in self._losses.items()
            }
            found.append(
                {
                    "epoch": epoch.epoch,
                    "at": moment(epoch.time),
                    "steps": steps,
                    "images": steps * self._batch_size,
                    "seconds": max(0.0, epoch.time - self._epoch_began),
                    **{name: number(value) for name, value in losses.items()},
                }
            )
            self._epoch_began, self._epoch_step = epoch.time, epoch.step
            self._losses = {"g_loss": [], "d_loss": []}
        for point in points[place:]:
            self._add(point)
        return found, steps or None

    def _add(self, point: Point) -> None:
        for name, values in self._losses.items():
            if name in point.numbers and len(values) < 1_000_000:
                values.append(point.numbers[name])

    def _grid(self, epoch: int, at: float, sheet: Sheet) -> dict[str, Any]:
        png = base64.b64encode(sheet.png()).decode()
        shape = {"rows": sheet.rows, "columns": sheet.columns}
        return {"epoch": epoch, "at": moment(at), "png": png, **shape}

    def _log(self) -> dict[str, Any] | None:
        text = "".join(_taken(self.text)).encode(errors="replace")[:LOG_CHARACTERS]
        text = text[: max(0, MAX_LOG - self._offset)]
        if not text:
            return None
        whole = text.decode(errors="ignore")
        part = {"offset": self._offset, "text": whole}
        self._offset += len(whole.encode())
        return part


def number(value: float) -> float | str:
    """JSON has neither NaN nor infinity: they are words."""
    return value if math.isfinite(value) else repr(value)


def moment(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat()


def _append(series: dict[str, list[Any]], step: int, at: float, value: float) -> None:
    if len(series["steps"]) < MAX_POINTS:
        series["steps"].append(step)
        series["times"].append(at)
        series["values"].append(number(value))


def _mean(values: list[float]) -> float:
    return math.fsum(values) / len(values) if values else math.nan


def _taken(queue: deque[Any]) -> list[Any]:
    return [queue.popleft() for _ in range(len(queue))]
