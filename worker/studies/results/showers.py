"""How near the showers of a study's 3DGANs come to real ones."""

from __future__ import annotations

from functools import partial

import numpy as np
import pandas as pd

from ganboard.db.curves import series
from ganboard.gan.config import model_of
from ganboard.gan.models.gan3d.validation import VALIDATION
from ganboard.gan.quality.declared import METRICS, OF_MODEL
from ganboard.gan.settings.validation import Validation
from ganboard.worker.figures import validation
from ganboard.worker.studies.results.study_data import UNTESTED, StudyData, StudyResult, apart


def physics(data: StudyData) -> StudyResult:
    claim = (
        "Speed-up is linear while most of the performance in terms of physics results is retained"
        " (3DGAN; no number is printed)."
    )
    how = (
        "The 3DGAN validation at the last evaluation of each run: relative errors of moments,"
        " profiles, angle and sampling fraction, 0 where generated and real showers agree. The"
        " curves show the run with the lowest objective and the real showers that it was evaluated"
        " with."
    )
    result = partial(StudyResult, "physics", "Physics: generated and real showers", claim, how=how)
    runs = [
        run for run in data.runs if model_of(run.config) == "gan3d" and "validation" in run.facts
    ]
    evaluated = series.quality_frame(data.engine, [run.id for run in runs], METRICS)
    last = evaluated[np.isfinite(evaluated["objective"])].groupby("run_id").last()
    runs = [run for run in runs if run.id in last.index]
    if not runs:
        return result(
            UNTESTED, data.lacking("Needs a finished 3DGAN run with evaluation (quality_every).")
        )
    text = apart([run.config for run in runs])
    names = list(OF_MODEL["gan3d"])
    rows = [
        (label, run.config["seed"], run.id, *last.loc[run.id, ["epoch", *names]])
        for label, run in zip(text, runs, strict=True)
    ]
    table = pd.DataFrame(rows, columns=["runs", "seed", "run", "epoch", *names]).astype(
        {"epoch": int}
    )
    place = int(table["objective"].to_numpy().argmin())
    best, found = table.iloc[place], Validation.model_validate(runs[place].facts["validation"])
    finding = (
        f"The lowest objective is {best['objective']:.3g} ({best['runs']}, seed {best['seed']},"
        f" after epoch {best['epoch']}): moments {best['moment_error']:.3g}, profiles"
        f" {best['profile_error']:.3g}, sampling fraction {best['sampling_error']:.3g};"
        f" {100 * best['empty']:.0f} % of {found.events:,} showers are empty. Over all runs the"
        f" objective spans {table['objective'].min():.3g} to {table['objective'].max():.3g}."
    )
    return result(UNTESTED, finding, figure=validation.overview(VALIDATION, found), table=table)
