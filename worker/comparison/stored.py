"""The conclusion on stored runs: what `conclusion` needs, out of the database."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime

import numpy as np
import numpy.typing as npt
from sqlalchemy import Engine

from ganboard.db.curves import series
from ganboard.db.models import Run
from ganboard.db.runs import queries
from ganboard.worker import formatting
from ganboard.worker.comparison.conclusion import Conclusion, Result, conclude
from ganboard.worker.figures.quality import headline

Floats = npt.NDArray[np.float64]
Arrays = Mapping[str, Floats]


def unique_names(runs: Sequence[Run]) -> dict[str, str]:
    """A name for each run, with its id where names repeat."""
    names = {run.id: formatting.shorten(run.name, 40) for run in runs}
    repeated = {name for name, count in Counter(names.values()).items() if count > 1}
    return {
        run_id: f"{name} ({run_id})" if name in repeated else name for run_id, name in names.items()
    }


def concluded(engine: Engine, runs: Sequence[Run], baseline: Run) -> Conclusion:
    """The conclusion on `runs`, two or more, one of which is the baseline."""
    ids = [run.id for run in runs]
    evaluated = series.evaluated(engine, ids, headline(baseline.config))
    now = queries.database_time(engine)
    return conclusion(runs, baseline, series.speeds(engine, ids), evaluated, now)


def conclusion(
    runs: Sequence[Run], baseline: Run, speeds: Arrays, evaluated: Arrays, now: datetime
) -> Conclusion:
    """The same from what was read: `speeds` and `evaluated` are those of `db.curves.series`, by
    run."""
    labels = unique_names(runs)
    results = {run.id: _result(run, labels[run.id], speeds, evaluated) for run in runs}
    base = results.pop(baseline.id)
    return conclude(base, list(results.values()), now)


def _result(run: Run, label: str, speeds: Arrays, evaluated: Arrays) -> Result:
    rates, found = speeds[run.id][:, 1], evaluated[run.id]
    return Result(run, label, rates[rates > 0], found[:, 0].astype(np.int64), found[:, 1])
