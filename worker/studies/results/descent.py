"""Fig. 11: the paths of all batch sizes over one loss surface."""

from __future__ import annotations

from functools import partial

import pandas as pd

from ganboard.db import requests
from ganboard.gan.landscape import geometry
from ganboard.gan.landscape.geometry import SurfaceRequest
from ganboard.worker.figures import surface as figures
from ganboard.worker.studies.results.study_data import (
    NOT_HERE,
    REPRODUCED,
    UNTESTED,
    StudyData,
    StudyResult,
)

CLAIMED_BATCH = 512
COLUMNS = ("run", "epoch", "x", "y", "loss", "radius")


def fig11(data: StudyData) -> StudyResult:
    claim = (
        "G minimises and D maximises; the radius of the path is minimum for batch 512. (The radius"
        " is not defined there.)"
    )
    how = (
        "The first seed's run of each value, on the loss surface through the end of the first run,"
        " in the two principal directions of all paths (Li et al. 2018), for fixed images, noise"
        " and dropout. Radius: distance between start and end in weight space. Larger batches take"
        " fewer steps per epoch, which alone shortens their paths. A surface contains one seed of"
        " each value, which is too little for a verdict."
    )
    result = partial(StudyResult, "fig11", "Fig. 11: descent paths", claim, how=how)
    family = data.curves()
    if family is None:
        lacking = data.lacking(f"Needs two finished runs that differ only in {data.axis}.")
        return result(UNTESTED, lacking)
    runs = family.first_seeds[: requests.MAX_RUNS]
    ids = [run.id for run in runs]
    asked = SurfaceRequest().model_dump()
    found = next(iter(requests.of_runs(data.engine, requests.SURFACE, ids, asked)), None)
    if found is None or found.result is None:
        reason = (
            "it is waiting for the analysis worker or being computed"
            if found and found.answered_at is None
            else found and found.error
        )
        how_to = f"ganboard surface {' '.join(ids)} computes it."
        return result(UNTESTED, f"The loss surface is not available yet: {reason or how_to}")
    arrays = geometry.unpack(found.result)
    names = [f"{family.what} {value}" for value in family.cells][: len(runs)]
    tables = []
    for net in ("g", "d"):
        rows = pd.DataFrame(arrays[f"{net}.path"], columns=list(COLUMNS))
        tables.append(
            rows.assign(
                net=net, **{family.name: [list(family.cells)[int(run)] for run in rows["run"]]}
            ).drop(columns="run")
        )
    table = pd.concat(tables)[[family.name, "net", "epoch", "x", "y", "loss", "radius"]]
    radii = table[table["epoch"] == 0].pivot(index=family.name, columns="net", values="radius")
    steps = {
        value: run.steps_per_epoch * run.epoch if run.steps_per_epoch else 0
        for value, run in zip(family.cells, runs, strict=False)
    }
    least = {net: radii[net].idxmin() for net in ("g", "d")}
    text = (
        f"{row.g:.3g} and {row.d:.3g} at {value} ({steps[value]:,} steps)"
        for value, row in radii.iterrows()
    )
    finding = (
        f"Radius of G and of D: {', '.join(text)}. The plane explains"
        f" {found.facts['shares']['g']:.0%} of the variance of G's paths and"
        f" {found.facts['shares']['d']:.0%} of D's."
    )
    verdict = UNTESTED
    if family.name == "batch_size" and CLAIMED_BATCH in radii.index:
        verdict = REPRODUCED if set(least.values()) == {CLAIMED_BATCH} else NOT_HERE
    return result(
        verdict,
        finding,
        figure=figures.side_by_side(arrays, names),
        table=table,
        rests_on=[[run] for run in runs],
    )
