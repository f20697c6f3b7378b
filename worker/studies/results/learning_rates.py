"""Fig. 9: nominal and effective learning rates by epoch."""

from __future__ import annotations

from functools import partial

import numpy as np
import numpy.typing as npt
import pandas as pd

from ganboard.db.curves import series
from ganboard.db.models import Run
from ganboard.worker.figures import study_losses
from ganboard.worker.studies.results.study_data import (
    NOT_HERE,
    REPRODUCED,
    UNTESTED,
    StudyData,
    StudyResult,
)

DIPS = (7 / 30, 24 / 30)  # of the run, where Fig. 9 has them at batch 512
NEAR = 0.1  # of the run
CLAIMED_BATCH = 512  # in Fig. 9


def fig9(data: StudyData) -> StudyResult:
    claim = (
        "At batch 512 the learning rate dips at iterations 7 and 24 of 30 and ends at its peak."
        " (Table 1 fixes it at 1e-4.)"
    )
    how = (
        "Nominal: the scheduled rate. Effective: RMS of the weight update divided by RMS of the"
        " gradient, which can vary at a constant nominal rate. Both are for D, medians over the"
        " steps of an epoch, first seed. Dips are minima of the effective rate, averaged over the"
        " seeds."
    )
    result = partial(StudyResult, "fig9", "Fig. 9: learning rate against epoch", claim, how=how)
    frames = {}
    # all seeds with the fixed rate at the claimed batch
    claimed: list[tuple[Run, pd.DataFrame]] = []
    for name, runs in _of_fig9(data):
        found = [(run, rates) for run in runs if (rates := _rates(data, run)) is not None]
        if found:
            frames[name] = found[0][1]
        config = runs[0].config
        if config["schedule"] == "constant" and config["batch_size"] == CLAIMED_BATCH:
            claimed = found
    if not frames:
        return result(
            UNTESTED, data.lacking("Needs a finished run that reports its learning rates.")
        )
    table = pd.concat(frame.assign(run=name) for name, frame in frames.items())
    if not claimed:
        finding = (
            f"The claim is about batch {CLAIMED_BATCH}, which was not run with a fixed rate. A"
            " cyclic schedule dips by construction."
        )
        return result(UNTESTED, finding, figure=study_losses.rates(frames), table=table)
    effective = pd.concat(
        [rates.set_index("epoch")["effective"] for _, rates in claimed], axis=1
    ).mean(axis=1)
    dips = _dips(effective.to_numpy(dtype=np.float64))
    as_claimed = len(dips) >= len(DIPS) and all(
        min(abs(dip - at) for dip in dips) <= NEAR for at in DIPS
    )
    where = ", ".join(f"{100 * dip:.0f} %" for dip in dips) or "none"
    finding = (
        f"With the fixed rate of Table 1, the effective rate at batch {CLAIMED_BATCH} dips at"
        f" {where} of the run (paper: {', '.join(f'{100 * at:.0f} %' for at in DIPS)}). A cyclic"
        " schedule dips there by construction."
    )
    verdict = REPRODUCED if as_claimed else NOT_HERE
    return result(
        verdict,
        finding,
        figure=study_losses.rates(frames),
        table=table,
        rests_on=[[run for run, _ in claimed]],
    )


def _of_fig9(data: StudyData) -> list[tuple[str, list[Run]]]:
    """The runs of each curve of the study, the first seed first, and one of each whose rate moves,
    named by what sets them apart."""
    family = data.curves()
    if family:
        found = [(f"{family.what} {value}", family.by_seed(value)) for value in family.cells]
    else:
        found = [(f"Batch {run.config['batch_size']}", [run]) for run in data.runs[:1]]
    rendered = {run.id for _, runs in found for run in runs}
    moving: dict[str, Run] = {}
    for run in data.runs:
        if run.config["schedule"] != "constant":
            moving.setdefault(f"Batch {run.config['batch_size']}, {run.config['schedule']}", run)
    return found + [(name, [run]) for name, run in moving.items() if run.id not in rendered]


def _rates(data: StudyData, run: Run) -> pd.DataFrame | None:
    """Columns epoch, nominal, effective; None if the run did not report them."""
    frame = series.step_series(data.engine, run.id, ["d_rate", "d_effective"], points=100_000)
    if frame.empty or frame["d_effective"].isna().all():
        return None
    by_epoch = frame.groupby(np.ceil(frame["epoch"]))[["d_rate", "d_effective"]].median()
    return (
        by_epoch.rename_axis("epoch")
        .reset_index()
        .rename(columns={"d_rate": "nominal", "d_effective": "effective"})
    )


def _dips(values: npt.NDArray[np.float64]) -> list[float]:
    """Where, as a share of the run, a value lies below both its neighbours."""
    lower = (values[1:-1] < values[:-2]) & (values[1:-1] < values[2:])
    return [float((at + 2) / len(values)) for at in np.flatnonzero(lower)]
