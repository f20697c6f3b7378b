"""The cheapest configuration that reaches a target: runs that are equal but for their seed, by what
it took them. Pure."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median

import pandas as pd

from ganboard.db.models import ENDED
from ganboard.worker import formatting
from ganboard.worker.comparison.comparable import Entry
from ganboard.worker.studies.comparison_groups import but_for_seed


@dataclass(frozen=True)
class Configuration:
    """Runs with equal settings but for the seed, and what each spent until it reached the target:
    infinite where it did not."""

    entries: list[Entry]
    costs: list[float]

    @property
    def cost(self) -> float:
        """The median over its runs; infinite unless most of them reached the target."""
        return median(self.costs)

    @property
    def reached(self) -> int:
        return sum(map(math.isfinite, self.costs))

    @property
    def typical(self) -> Entry:
        """The run whose cost is nearest to the median, or the cheapest where that is infinite."""
        middle = self.cost if math.isfinite(self.cost) else min(self.costs)
        finite = [
            (abs(cost - middle), place)
            for place, cost in enumerate(self.costs)
            if math.isfinite(cost)
        ]
        return self.entries[min(finite)[1]] if finite else self.entries[0]


def suggested(best: float | None, *, lower: bool) -> float | None:
    """A target that the best run reaches: its value and a tenth, rounded to two digits so that it
    still does. None where there is nothing to go by."""
    if best is None or not math.isfinite(best) or best <= 0:
        return None
    wanted, rounded = (1.1 * best, math.ceil) if lower else (0.9 * best, math.floor)
    unit = 10.0 ** (math.floor(math.log10(wanted)) - 1)
    return round(rounded(wanted / unit) * unit, 10)


def first_reached(points: pd.DataFrame, goal: float, *, lower: bool) -> dict[str, float]:
    """What each run spent until an evaluation was at the `goal` or better, by run id; `points` as
    for `worker.figures.many.frontier.scatter`."""
    good = points[points["y"] <= goal] if lower else points[points["y"] >= goal]
    known = good[good["x"].notna()].drop_duplicates("run_id")
    return dict(zip(known["run_id"], known["x"].astype(float), strict=True))


def configurations(
    entries: Sequence[Entry], reached: Mapping[str, float], *, by_machine: bool
) -> list[Configuration]:
    """All configurations, the cheapest first, those that most of their runs did not reach it with
    last. Runs that may still reach it do not count; with `by_machine` those of two machines are
    two configurations."""
    counted = [one for one in entries if one.run.id in reached or one.run.status in ENDED]
    groups: dict[tuple[bytes, str], list[Entry]] = {}
    keys = but_for_seed(entry.run.config for entry in counted)
    for key, entry in zip(keys, counted, strict=True):
        groups.setdefault((key, entry.machine if by_machine else ""), []).append(entry)
    found = [
        Configuration(own, [reached.get(entry.run.id, math.inf) for entry in own])
        for own in groups.values()
    ]
    return sorted(found, key=lambda one: (one.cost, min(one.costs), -one.reached))


def apart(value: float, goal: float, digits: int) -> str:
    """`value` with so many decimals, or with more where it would read as `goal`, another value."""
    decimals = next((n for n in range(digits, 16) if round(value, n) != goal), 16)
    return formatting.decimal(value, decimals)
