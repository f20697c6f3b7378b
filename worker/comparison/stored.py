"""What a comparison of stored runs needs of them, for the page and for programs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime

import numpy as np
import numpy.typing as npt

from ganboard.db.models import Run
from ganboard.gan.quality.declared import METRICS
from ganboard.gan.settings.features import Source, recorded, was_evaluated
from ganboard.worker import formatting
from ganboard.worker.comparison.conclusion import Conclusion, Result, conclude

Floats = npt.NDArray[np.float64]
Arrays = Mapping[str, Floats]


def unique_names(runs: Sequence[Run]) -> dict[str, str]:
    """A name for each run, with its id where names repeat."""
    names = {run.id: formatting.shorten(run.name, 40) for run in runs}
    repeated = {name for name, count in Counter(names.values()).items() if count > 1}
    return {
        run_id: f"{name} ({run_id})" if name in repeated else name for run_id, name in names.items()
    }


def source(runs: Sequence[Run], baseline: Run) -> Source:
    """The features of the baseline, or of the first run that is evaluated if it is not."""
    evaluated = [run for run in (baseline, *runs) if was_evaluated(run.facts)]
    return recorded(evaluated[0].facts if evaluated else baseline.facts)


def comparable(runs: Sequence[Run], baseline: Run, measure: str) -> list[Run]:
    """The runs whose values of a metric come from the features `source`."""
    if not METRICS[measure].by_features:
        return list(runs)
    features = source(runs, baseline)
    return [run for run in runs if features.comparable(recorded(run.facts))]


def medians(speeds: Arrays) -> dict[str, tuple[float | None, float | None]]:
    """Medians of the seconds per epoch and the images per second in `db.curves.series.speeds`, by
    run id; None before the first epoch."""
    return {
        run_id: (_median(values[:, 0]), _median(values[:, 1])) for run_id, values in speeds.items()
    }


def conclusion(
    runs: Sequence[Run], baseline: Run, speeds: Arrays, evaluated: Arrays, now: datetime
) -> Conclusion:
    """The conclusion on `runs`, two or more, one of which is the baseline; `speeds` and `evaluated`
    are those of `db.curves.series`, by run."""
    labels = unique_names(runs)
    results = {run.id: _result(run, labels[run.id], speeds, evaluated) for run in runs}
    base = results.pop(baseline.id)
    return conclude(base, list(results.values()), now)


def _result(run: Run, label: str, speeds: Arrays, evaluated: Arrays) -> Result:
    rates, found = speeds[run.id][:, 1], evaluated[run.id]
    return Result(run, label, rates[rates > 0], found[:, 0].astype(np.int64), found[:, 1])


def _median(values: Floats) -> float | None:
    finite = values[np.isfinite(values)]
    return float(np.median(finite)) if len(finite) else None
