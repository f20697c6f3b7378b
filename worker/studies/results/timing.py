"""Figs. 5, 6 and 12: what batch size and XLA cost and save in seconds."""

from __future__ import annotations

from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ganboard.db.models import Run
from ganboard.gan.studies import scaling_laws
from ganboard.worker import formatting
from ganboard.worker.figures import study
from ganboard.worker.studies.comparison_groups import Family
from ganboard.worker.studies.results.claims import NEEDS, missing
from ganboard.worker.studies.results.study_data import (
    NOT_HERE,
    REPRODUCED,
    UNTESTED,
    StudyData,
    StudyResult,
    per_seed,
)

REDUCTION = 0.79  # from batch 64 to 512 on 8 TPU cores: abstract and section 5.1
XLA_SPEEDUP = 1.15  # section 5.3
CLOSE = 0.05  # a ratio or share that differs by no more is as claimed


def trained_images(run: Run) -> int:
    """Images that passed through training."""
    return (run.steps_per_epoch or 0) * run.epoch * int(run.config["batch_size"])


def per_image(run: Run) -> float:
    """Seconds of training per image, compiling left out."""
    return run.seconds / trained_images(run) if trained_images(run) else np.nan


def later_seconds(data: StudyData, runs: list[Run]) -> npt.NDArray[np.float64]:
    """Seconds of an epoch's training steps in each run: the mean of the epochs after the first,
    which is cold, where there are any."""

    def mean(run: Run) -> float:
        seconds = data.epochs[run.id]["seconds"]
        return float(seconds.iloc[1 if len(seconds) > 1 else 0 :].mean())

    return per_seed(runs, mean)


def _rows(cells: list[tuple[Any, list[Run]]], name: str) -> pd.DataFrame:
    """One row per run: what it trained, and its seconds without compiling."""
    return pd.DataFrame(
        [
            {
                name: value,
                "seed": run.config["seed"],
                "run": run.id,
                "epochs": run.epoch,
                "images": trained_images(run),
                "seconds": run.seconds,
            }
            for value, runs in cells
            for run in runs
        ]
    )


def law_of(family: Family) -> scaling_laws.BatchLaw:
    """t(B) of a family over batch sizes; raises TooFew."""
    pairs = [(batch, per_image(run)) for batch, runs in family.cells.items() for run in runs]
    known = [(batch, seconds_each) for batch, seconds_each in pairs if np.isfinite(seconds_each)]
    return scaling_laws.fit_batches(
        [batch for batch, _ in known], [seconds_each for _, seconds_each in known]
    )


def fig5(data: StudyData) -> StudyResult:
    claim = (
        "From batch 64 to 512 the training time on 8 TPU cores falls by 79 %. (One sentence of"
        " section 5.1 says that it rises.)"
    )
    how = (
        "Training seconds of whole runs that differ only in batch size and seed, without"
        " compilation; bars span the seeds. The curve is t(B) = n (b + a / B), a least-squares fit"
        " to the relative residuals: a is the cost of a step independent of its batch."
    )
    result = partial(
        StudyResult, "fig5", "Fig. 5: training time against batch size", claim, how=how
    )
    family = data.family("batch_size")
    if family is None:
        return result(
            UNTESTED, data.lacking("Needs two finished runs that differ only in batch size.")
        )
    law = law_of(family)
    images = float(
        np.median([trained_images(run) for runs in family.cells.values() for run in runs])
    )
    both = {64, 512} <= set(family.cells)
    measured = 1 - _mean(family, 512) / _mean(family, 64) if both else law.reduction(64, 512)
    source = "measured" if both else "from the fit, as not both batch sizes were run"
    finding = (
        f"From 64 to 512 the time changes by {-100 * measured:+.0f} % ({source}). a ="
        f" {1000 * law.per_step:.3g} ms per step, b = {1e3 * law.per_image:.3g} ms per image: the"
        f" fixed cost of a step equals that of {law.even_batch:.3g} images, and larger batches"
        " save less than half. A fall of 79 % needs 595 images."
    )
    verdict = REPRODUCED if abs(measured - REDUCTION) <= CLOSE else NOT_HERE
    plot = study.against_batch(
        {batch: per_seed(runs, lambda run: run.seconds) for batch, runs in family.cells.items()},
        law,
        images,
    )
    return result(
        verdict,
        finding,
        figure=plot,
        table=_rows(list(family.cells.items()), "batch_size"),
        rests_on=family.groups,
    )


def _mean(family: Family, value: Any) -> float:
    """Mean seconds per image over the seeds of a value."""
    return float(per_seed(family.cells[value], per_image).mean())


def fig6(data: StudyData) -> StudyResult:
    claim = "Epochs of larger batches take less time."
    how = (
        "Training seconds of each epoch, averaged over the seeds; the first epoch, which includes"
        " tracing and compilation, is shown as a separate point."
    )
    result = partial(StudyResult, "fig6", "Fig. 6: training time of every epoch", claim, how=how)
    family = data.curves()
    if family is None:
        return result(
            UNTESTED, data.lacking(f"Needs two finished runs that differ only in {data.axis}.")
        )
    frames = {
        batch: pd.concat(data.epochs[run.id] for run in runs)
        for batch, runs in family.cells.items()
    }
    table = pd.concat(
        rows[["run_id", "epoch", "seconds", "compile_seconds"]].assign(**{family.name: batch})
        for batch, rows in frames.items()
    )
    middle = {batch: float(rows["seconds"].median()) for batch, rows in frames.items()}
    falls = all(later < before * (1 + CLOSE) for before, later in pairwise(middle.values()))
    smallest, *_, largest = middle.values()
    gained = 1 - largest / smallest
    first = float(
        np.mean(
            [rows.loc[rows["epoch"] == 1, "compile_seconds"].mean() for rows in frames.values()]
        )
    )
    finding = (
        f"Medians: {', '.join(f'{seconds:.3g} s at {batch}' for batch, seconds in middle.items())}."
        f" The first epoch compiles for {first:.2g} s on average."
    )
    verdict = UNTESTED
    if family.name == "batch_size":
        verdict = REPRODUCED if falls and gained > CLOSE else NOT_HERE
    return result(
        verdict,
        finding,
        figure=study.epoch_times(frames, family.what),
        table=table,
        rests_on=family.groups,
    )


def fig12(data: StudyData) -> StudyResult:
    claim = "With XLA the models run about 1.15 times quicker."
    how = (
        "Seconds per epoch of runs that differ only in XLA and seed, averaged over the seeds,"
        " without compilation. On a TPU all programs are compiled by XLA, so there is no"
        " comparison."
    )
    result = partial(StudyResult, "fig12", "Fig. 12: XLA off and on", claim, how=how)
    families = data.families("xla")
    if not families:
        return result(UNTESTED, data.lacking("Needs two finished runs that differ only in XLA."))
    table = pd.DataFrame([_xla_pair(data, family) for family in families])
    # another machine's few runs bar no verdict
    enough = [not missing(NEEDS["fig12"], family.groups) for family in families]
    counted = table[enough] if any(enough) else table
    rests_on = [
        group
        for family, one in zip(families, enough, strict=True)
        if one or not any(enough)
        for group in family.groups
    ]
    ratio = float(counted["speedup"].median())
    paid = float(counted["break_even_steps"].median())
    back = (
        f"compilation pays off after {paid:,.0f} steps"
        if np.isfinite(paid)
        else "compilation never pays off"
    )
    finding = (
        f"With XLA an epoch is {ratio:.2f} times as fast (median of"
        f" {formatting.plural(len(counted), 'comparison')}); {back}."
    )
    verdict = REPRODUCED if abs(ratio - XLA_SPEEDUP) <= 2 * CLOSE else NOT_HERE
    return result(verdict, finding, figure=study.pairs(table), table=table, rests_on=rests_on)


def _xla_pair(data: StudyData, family: Family) -> dict[str, Any]:
    """Mean seconds of an epoch without and with XLA, and the steps after which compiling is paid
    back."""
    off, on = (
        pd.concat(data.epochs[run.id] for run in family.cells[whether]) for whether in (False, True)
    )
    seconds, compiling = (
        [float(frame[name].mean()) for frame in (off, on)]
        for name in ("seconds", "compile_seconds")
    )
    epochs, steps = float(off["epoch"].max()), float(off["steps"].mean())
    label = (
        f"batch {family.common['batch_size']}, {family.common['precision']},"
        f" {formatting.plural(family.common['replicas'], 'replica')}"
    )
    return {
        "runs": label + data.where(family.cells[True][0]),
        "seconds_off": seconds[0],
        "seconds_on": seconds[1],
        "compile_off": compiling[0] * epochs,
        "compile_on": compiling[1] * epochs,
        "speedup": seconds[0] / seconds[1],
        "break_even_steps": scaling_laws.break_even(
            (compiling[1] - compiling[0]) * epochs, seconds[0] / steps, seconds[1] / steps
        ),
    }
