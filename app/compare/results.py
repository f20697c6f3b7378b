"""The results of runs that a plot can be coloured by: quality first, then speed and losses."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from operator import attrgetter

from sqlalchemy import Engine

from ganboard.app.runs.columns import best_fid
from ganboard.db.runs import evaluations, runtime_estimation
from ganboard.db.runs.listing import DISTANCES, Listed
from ganboard.gan.config import model_of
from ganboard.gan.quality import declared
from ganboard.gan.settings.features import LABELS


@dataclass(frozen=True)
class Measure:
    """A result; `less_is_better` is None where neither end is the better one."""

    value: Callable[[Listed], float | None]
    less_is_better: bool | None
    meaning: str


FIDS = {
    best_fid(name): Measure(
        attrgetter(field), True, f"Lowest FID of all evaluations, by {LABELS[name]} features."
    )
    for name, field in DISTANCES.items()
}
SPEED_AND_LOSS = {
    "Seconds per epoch": Measure(
        lambda run: run.seconds / run.epoch if run.epoch else None,
        True,
        "Mean over the finished epochs, without compilation.",
    ),
    "Images per second": Measure(
        lambda run: run.images_per_second, False, f"{runtime_estimation.RATE}."
    ),
    "Training seconds": Measure(
        lambda run: run.seconds or None, True, "All finished epochs, without compilation."
    ),
    "Generator loss": Measure(
        lambda run: run.g_loss, None, "Mean of the last epoch. Lower is not necessarily better."
    ),
    "Discriminator loss": Measure(
        lambda run: run.d_loss, None, "Mean of the last epoch. Lower is not necessarily better."
    ),
}


def measures(engine: Engine, runs: Sequence[Listed]) -> dict[str, Measure]:
    """All results by label: the FIDs, the main metrics of those of the runs' models that have
    another, speed, losses."""
    models = {model_of(run.config) for run in runs if not run.external}
    found = dict(FIDS)
    for model in declared.OF_MODEL:
        metric = declared.headline(model)
        if model in models and not metric.by_features:
            lowest = evaluations.best(engine, [run.id for run in runs], metric.name)
            meaning = f"Lowest of all evaluations. {metric.meaning}."
            found[f"Best {metric.label}"] = Measure(partial(_of, lowest), True, meaning)
    return found | SPEED_AND_LOSS


def available(measures: Mapping[str, Measure], runs: Sequence[Listed]) -> tuple[str, ...]:
    """The names of those that any of the runs has, in their order, but first those that two have,
    which a plot needs; all of them where there is none."""
    counts = {
        name: sum(is_finite(measure.value(run)) for run in runs)
        for name, measure in measures.items()
    }
    several = [name for name, count in counts.items() if count > 1]
    alone = [name for name, count in counts.items() if count == 1]
    return (*several, *alone) or tuple(measures)


def is_finite(value: float | None) -> bool:
    return value is not None and math.isfinite(value)


def _of(values: Mapping[str, float], run: Listed) -> float | None:
    return values.get(run.id)
