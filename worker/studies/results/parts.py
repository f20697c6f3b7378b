"""Where the time of a study's runs went, and which part of it is their bottleneck."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from ganboard.db.curves import series
from ganboard.gan.events import MEASURES
from ganboard.worker import formatting
from ganboard.worker.figures import timings
from ganboard.worker.studies.comparison_groups import alike
from ganboard.worker.studies.remedies import remedy
from ganboard.worker.studies.results.study_data import UNTESTED, StudyData, StudyResult, apart


def bottleneck(data: StudyData) -> StudyResult:
    claim = (
        "Bottlenecks are detected and solutions suggested; those of data initialisation and image"
        " production removed (multi-GPU GAN)."
    )
    how = (
        "Wall-clock time of all epochs of runs with equal settings, all seeds. Waiting for images"
        " and all-reduce are timed inside each step; host is the time between calls; computing is"
        " the remainder of the steps. Tracing and compilation, which happen once, are excluded."
    )
    result = partial(StudyResult, "bottleneck", "Bottleneck: time by activity", claim, how=how)
    measured = {
        str(run_id): rows
        for run_id, rows in series.measures_frame(
            data.engine, [run.id for run in data.runs]
        ).groupby("run_id")
    }
    groups = alike(data.runs)
    rows: list[tuple[Any, ...]] = []
    for text, (_, runs) in zip(apart([common for common, _ in groups]), groups, strict=True):
        frame = pd.concat(measured[run.id] for run in runs)
        if shares := timings.shares(frame):
            name = timings.bottleneck(shares)
            advice = remedy(name, runs[0])
            median = 1000 * float(frame["step_p50"].median()) if "step_p50" in frame else np.nan
            rows.append(
                (
                    text + data.where(runs[0]),
                    *(shares.get(part, 0.0) for part, _ in timings.PARTS),
                    median,
                    MEASURES[name],
                    advice,
                )
            )
    if not rows:
        return result(UNTESTED, data.lacking("Needs a finished run with timings inside the steps."))
    columns = [
        "runs",
        *(name.removesuffix("_seconds") for name, _ in timings.PARTS),
        "step_milliseconds",
        "bottleneck",
        "remedy",
    ]
    table = pd.DataFrame(rows, columns=columns)
    shares_of = [name.removesuffix("_seconds") for name, _ in timings.PARTS]
    said = []
    for part, found in table.groupby("bottleneck", sort=False):
        largest = formatting.share(float(found[shares_of].to_numpy().max()))
        said.append(
            f"{part}: the largest part of {formatting.plural(len(found), 'configuration')}, up to"
            f" {largest}."
        )
        said += [advice for advice in found["remedy"].unique() if advice]
    finding = " ".join(said)
    return result(UNTESTED, finding, figure=timings.parts(table), table=table)
