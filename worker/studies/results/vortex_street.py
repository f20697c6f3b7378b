"""What the pix2pix of vortex streets shows: its training table by batch size, and how far it
overfits."""

from __future__ import annotations

from functools import partial
from itertools import pairwise

import numpy as np
import pandas as pd

from ganboard.db.curves import series
from ganboard.gan.config import model_of
from ganboard.gan.quality.declared import METRICS
from ganboard.gan.studies import reference_results
from ganboard.worker.figures import study, study_losses
from ganboard.worker.studies.results.study_data import (
    NOT_HERE,
    REPRODUCED,
    UNTESTED,
    StudyData,
    StudyResult,
)
from ganboard.worker.studies.results.timing import CLOSE, later_seconds

THEIRS = {
    device: reference_results.by_batch("pix2pix", device)
    for device in ("RTX A6000", "TPU v2", "TPU v3", "TPU v4")
}


def training_table(data: StudyData) -> StudyResult:
    claim = (
        "From batch 8 to 64 the training of a pix2pix takes 19 % less time on an RTX A6000 and 49 %"
        " less on 8 cores of a TPU v4; larger batches take less on every device. (Seconds, “average"
        " over 45 epochs”: of an epoch or of the run is not said, and changes no ratio.)"
    )
    how = (
        "Training seconds per epoch, averaged over the seeds and all epochs after the first, of"
        " runs that differ only in batch size and seed; the gain is relative to the smallest"
        " batch. The first epoch including tracing and compilation and the whole run without them"
        " are listed separately. Published values as printed; the figure divides all values by"
        " those at the smallest batch, so that only the trend is compared."
    )
    result = partial(
        StudyResult, "training-table", "Training table: seconds by batch size", claim, how=how
    )
    family = data.family("batch_size")
    if family is None:
        return result(
            UNTESTED, data.lacking("Needs two finished runs that differ only in batch size.")
        )
    seconds = {batch: later_seconds(data, runs) for batch, runs in family.cells.items()}
    means = {batch: float(values.mean()) for batch, values in seconds.items()}
    smallest, *_, largest = means
    rows = []
    for batch in sorted({*means, *THEIRS["TPU v4"]}):
        here: tuple[float, ...] = (np.nan,) * 5
        if runs := family.cells.get(batch):
            done = pd.concat(data.epochs[run.id] for run in runs)
            first = done[done["epoch"] == 1]
            images = float(done["images"].iloc[0])
            cold = float((first["seconds"] + first["compile_seconds"]).mean())
            whole = float(done.groupby("run_id")["seconds"].sum().mean())
            here = means[batch], cold, whole, images / means[batch], means[smallest] / means[batch]
        rows.append((batch, *here, *(times.get(batch, np.nan) for times in THEIRS.values())))
    own = ["seconds", "first_epoch", "whole_run", "images_per_second", "gain"]
    table = pd.DataFrame(
        rows, columns=["batch_size", *own, *(f"theirs: {device}" for device in THEIRS)]
    )
    falls = all(after < before * (1 + CLOSE) for before, after in pairwise(means.values()))
    saved = 1 - means[largest] / means[smallest]
    here_words = ", ".join(f"{value:.3g} s at batch {batch}" for batch, value in means.items())
    theirs = ", ".join(
        f"{100 * (times[64] / times[8] - 1):+.0f} % on {device}"
        for device, times in THEIRS.items()
        if 64 in times
    )
    finding = (
        f"An epoch takes {here_words}: {-100 * saved:+.0f} % from {smallest} to {largest}. Theirs"
        f" from 8 to 64: {theirs}."
    )
    verdict = REPRODUCED if falls and saved > CLOSE else NOT_HERE
    lines = {"Here": {batch: values / means[smallest] for batch, values in seconds.items()}}
    lines |= {
        f"Theirs: {device}": {batch: np.array([time / times[8]]) for batch, time in times.items()}
        for device, times in THEIRS.items()
    }
    return result(
        verdict, finding, figure=study.relative(lines), table=table, rests_on=family.groups
    )


def overfitting(data: StudyData) -> StudyResult:
    claim = (
        "Results are usable; the network tends to overfitting. (pix2pix on TPU; no number is"
        " printed.)"
    )
    how = (
        "Mean absolute difference between predicted and real fields one frame ahead, in units of"
        " the inlet speed, averaged over the seeds, for held-out Reynolds numbers or obstacles and"
        " for training flows. Reproduced if the final held-out error is more than"
        f" {100 * CLOSE:.0f} % above the training error for every value, and all of them are below"
        " the error of a static flow; above that the comparison is meaningless."
    )
    result = partial(
        StudyResult, "overfitting", "Overfitting: held-out and training flows", claim, how=how
    )
    runs = [run for run in data.runs if model_of(run.config) == "pix2pix"]
    evaluated = series.quality_frame(data.engine, [run.id for run in runs], METRICS)
    evaluated = evaluated[np.isfinite(evaluated["l1"]) & np.isfinite(evaluated["l1_train"])]
    family = data.curves()
    cells = family.cells if family else {run.config[data.axis]: [run] for run in runs[:1]}
    names = ["l1", "l1_train", "l1_standing"]
    frames = {
        value: found.groupby("epoch")[names].mean().reset_index()
        for value, members in cells.items()
        if not (found := evaluated[evaluated["run_id"].isin([run.id for run in members])]).empty
    }
    if not frames:
        return result(
            UNTESTED, data.lacking("Needs a finished pix2pix run with evaluation (quality_every).")
        )
    what = family.name if family else data.axis
    table = pd.concat(
        frame.assign(gap=frame["l1"] - frame["l1_train"], **{what: value})
        for value, frame in frames.items()
    )
    ends = table.groupby(what).last()
    usable = ends["l1"] < ends["l1_standing"]
    text = (
        f"{row.l1:.4f} held out, {row.l1_train:.4f} training at {value} (gap {row.gap:+.4f})"
        for value, row in ends.iterrows()
    )
    still = float(ends["l1_standing"].mean())
    finding = f"Final L1: {'; '.join(text)}. A static flow has {still:.4f}: "
    finding += (
        f"{int(usable.sum())} of {len(ends)} are better."
        if usable.any()
        else "no network is better yet."
    )
    verdict = UNTESTED
    if usable.all():
        verdict = REPRODUCED if (ends["gap"] > CLOSE * ends["l1_train"]).all() else NOT_HERE
    plot = study_losses.overfitting(frames, family.what if family else "Batch")
    measured = set(evaluated["run_id"])
    rests_on = [[run for run in cells[value] if run.id in measured] for value in frames]
    return result(
        verdict,
        finding,
        figure=plot,
        table=table[[what, "epoch", *names, "gap"]],
        rests_on=rests_on,
    )
