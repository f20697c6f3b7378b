"""How near the showers of a study's 3DGANs come to real ones."""

from __future__ import annotations

import numpy as np
import pandas as pd

from ganboard.db.runs import series
from ganboard.gan.config import model_of
from ganboard.gan.events import MEASURED
from ganboard.gan.models.gan3d.validation import Validation
from ganboard.worker.figures import physics as figures
from ganboard.worker.studies.results.study_data import UNTESTED, StudyData, StudyResult, apart


def physics(data: StudyData) -> StudyResult:
    key, title = "physics", "Physics: generated showers beside real ones"
    claim = (
        "Speed-up is linear while most of the performance in terms of physics results is retained"
        " (3DGAN; no number is printed)."
    )
    how = (
        "The 3DGAN's own validation at the last evaluation of each run: relative errors of moments,"
        " profiles, angle and sampling fraction, 0 where generated and real showers agree. The"
        " curves are those of the run with the lowest objective, beside the real showers that it"
        " was evaluated with."
    )
    runs = [
        run for run in data.runs if model_of(run.config) == "gan3d" and "validation" in run.facts
    ]
    evaluated = series.quality_frame(data.engine, [run.id for run in runs])
    last = evaluated[np.isfinite(evaluated["objective"])].groupby("run_id").last()
    runs = [run for run in runs if run.id in last.index]
    if not runs:
        return StudyResult(
            key,
            title,
            claim,
            UNTESTED,
            data.lacking("A finished 3DGAN run with evaluation (quality_every) is needed."),
            how,
        )
    text = apart([run.config for run in runs])
    names = list(MEASURED["gan3d"])
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
    return StudyResult(key, title, claim, UNTESTED, finding, how, figures.overview(found), table)
