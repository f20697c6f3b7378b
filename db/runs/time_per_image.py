"""Seconds per image at one batch size, from runs at others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median

NEWEST = 5  # runs with the same settings whose median counts: a machine changes with time
SLACK = 1.1  # allowance, both ways, for each conclusion from other settings
STRETCH = 4.0  # how far one measured batch says something about another


@dataclass(frozen=True)
class Guess:
    """Seconds per image: likely, at least and at most; and in words from what."""

    likely: float
    low: float
    high: float
    text: str

    def times(self, low: float, likely: float, high: float, text: str) -> Guess:
        return Guess(self.likely * likely, self.low * low, self.high * high, f"{self.text}{text}")


def median_of_newest(seconds: list[float]) -> float:
    """Of the newest runs, which are first."""
    return median(seconds[:NEWEST])


def at_batch(batches: Mapping[int, list[float]], batch: int) -> tuple[int, Guess] | None:
    """Seconds per image at `batch` where all else is equal, and how far fetched that is: 0, 1, or 6
    from a single other batch."""
    if same := batches.get(batch, [])[:NEWEST]:
        return 0, Guess(
            median(same),
            min(same),
            max(same),
            f"from {runs_in_words(len(same))} with batch {batch}",
        )
    text = (
        f"from {runs_in_words(sum(len(runs[:NEWEST]) for runs in batches.values()))} with batch"
        f" {_listed(sorted(batches))}"
    )
    points = sorted((size, median_of_newest(runs)) for size, runs in batches.items() if size > 0)
    if not points or batch <= 0:
        return None
    if len(points) > 1:
        per_image, per_step = fit(points)
        likely = per_image + per_step / batch
        off = max(
            max(
                seconds_each / (per_image + per_step / size),
                (per_image + per_step / size) / seconds_each,
            )
            for size, seconds_each in points
        )
        bounds = [likely]
        # out there the time per image may also stay as it is at the last batch
        if not points[0][0] < batch < points[-1][0]:
            bounds.append(min(points, key=lambda point: abs(point[0] - batch))[1])
        return 1, Guess(likely, min(bounds) / off / SLACK, max(bounds) * off * SLACK, text)
    [(size, seconds_each)] = points
    if not 1 / STRETCH <= batch / size <= STRETCH:
        return None
    per_step = (
        seconds_each * size / batch
    )  # were all of the time that of a step, whatever its batch
    low, high = min(seconds_each, per_step), max(seconds_each, per_step)
    return 6, Guess((low * high) ** 0.5, low / SLACK, high * SLACK, f"{text} alone")


def fit(points: Sequence[tuple[int, float]]) -> tuple[float, float]:
    """(b, a) of t = b + a / batch, both at least 0, with the least sum of squared relative errors;
    `points` are (batch, t) pairs.

    b are seconds per image, a seconds per step. At least two different batches are needed.
    """
    import numpy as np  # noqa: PLC0415  # few commands estimate

    # relative errors: both columns and the target are divided by t
    columns = np.array([(1 / spent, 1 / (size * spent)) for size, spent in points])
    target = np.ones(len(points))
    both = np.linalg.lstsq(columns, target)[0]
    if (both >= 0).all():
        return float(both[0]), float(both[1])
    # Then the optimum has one of them at 0 (Lawson and Hanson, Solving Least Squares Problems,
    # 1974). SciPy's nnls finds the same, but takes 50 MB of the web process to load.
    alone = columns.sum(axis=0) / (columns**2).sum(axis=0)
    errors = ((columns * alone - 1) ** 2).sum(axis=0)
    return (float(alone[0]), 0.0) if errors[0] <= errors[1] else (0.0, float(alone[1]))


def runs_in_words(count: int) -> str:
    """1 -> "1 run", 2 -> "2 runs"."""
    return f"{count} run{'s' * (count > 1)}"


def _listed(numbers: Sequence[int]) -> str:
    return " and ".join(
        part for part in (", ".join(map(str, numbers[:-1])), str(numbers[-1])) if part
    )
