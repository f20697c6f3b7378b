"""Which runs are best: ranked among those whose numbers may be compared."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import Engine

from ganboard.db.models import STATUSES
from ganboard.db.runs import evaluations, listing
from ganboard.db.runs.listing import Listed
from ganboard.gan.config import model_of
from ganboard.worker.comparison import comparable
from ganboard.worker.comparison.comparable import Entry


@dataclass(frozen=True)
class Ranked:
    """A run and the best value that an evaluation of it found."""

    run: Listed
    value: float


@dataclass(frozen=True)
class Ranking:
    """Runs of one model on one data set that were evaluated alike, the best first."""

    model: str
    data: str
    evaluated_by: str  # features and number of samples, in words
    metric: str  # its label
    better: str  # lower or higher
    runs: list[Ranked]


def rankings(
    engine: Engine, metric: str | None = None, statuses: tuple[str, ...] = STATUSES
) -> list[Ranking]:
    """All rankings by a metric, or by the main metric of each model; the longest first. Forks,
    archived runs and those of scripts are left out: see `comparable.entries`."""
    groups: dict[tuple[str, str], list[Entry]] = {}
    for entry in comparable.entries(engine, listing.list_all(engine, statuses=statuses)):
        groups.setdefault((model_of(entry.run.config), entry.data), []).append(entry)
    found = []
    for (model, data), own in groups.items():
        for evaluated_by, alike in comparable.by_evaluation(own).items():
            if ranked := _ranked(engine, metric, alike):
                name, better, runs = ranked
                found.append(Ranking(model, data, evaluated_by, name, better, runs))
    return sorted(found, key=lambda one: -len(one.runs))


def _ranked(
    engine: Engine, metric: str | None, alike: list[Entry]
) -> tuple[str, str, list[Ranked]] | None:
    offered = comparable.metrics(alike)
    name = next(iter(offered), None) if metric is None else metric
    if name is None or name not in offered:
        return None
    better = offered[name].better or "lower"
    ids = [entry.run.id for entry in alike]
    values = evaluations.best(engine, ids, name, lower=better == "lower")
    runs = [Ranked(entry.run, values[entry.run.id]) for entry in alike if entry.run.id in values]
    runs.sort(key=lambda one: one.value if better == "lower" else -one.value)
    return (offered[name].label, better, runs) if runs else None
