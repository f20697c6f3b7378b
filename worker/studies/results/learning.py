"""Figs. 7, 8 and 10: losses, their spread, and what they reach, by batch size."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ganboard.db.curves import reduction, series
from ganboard.db.models import Run
from ganboard.gan.quality.declared import METRICS
from ganboard.gan.settings.features import conflict, recorded
from ganboard.worker.figures import study, study_losses
from ganboard.worker.figures.quality import headline
from ganboard.worker.studies.comparison_groups import Family
from ganboard.worker.studies.results.study_data import (
    NOT_HERE,
    REPRODUCED,
    UNTESTED,
    StudyData,
    StudyResult,
    Verdict,
)

SMOOTHING = 0.9  # of the step losses, before their best is taken
TREND_EPOCHS = 3


def _needed(data: StudyData) -> str:
    return f"Needs two finished runs that differ only in {data.axis}."


def _epoch_means(data: StudyData, family: Family) -> dict[Any, pd.DataFrame]:
    """Mean losses of every epoch, over the seeds, by value of the family: columns epoch, g_loss,
    d_loss and, over seeds, their extremes."""
    found = {}
    for batch, runs in family.cells.items():
        rows = pd.concat(data.epochs[run.id] for run in runs).groupby("epoch")[["g_loss", "d_loss"]]
        found[batch] = pd.concat(
            [rows.mean(), rows.min().add_suffix("_low"), rows.max().add_suffix("_high")], axis=1
        ).reset_index()
    return found


def _table(frames: dict[Any, pd.DataFrame], name: str) -> pd.DataFrame:
    return pd.concat(frame.assign(**{name: value}) for value, frame in frames.items())


def fig7(data: StudyData) -> StudyResult:
    key, title = "fig7", "Fig. 7: losses of generator and discriminator"
    claim = (
        "The loss of the discriminator is less for smaller batch sizes and increases with the batch"
        " size."
    )
    how = "Mean loss of every epoch, averaged over the seeds; the band is their range."
    family = data.curves()
    if family is None:
        return StudyResult(key, title, claim, UNTESTED, data.lacking(_needed(data)), how)
    frames = _epoch_means(data, family)
    last = {batch: float(frame["d_loss"].iloc[-1]) for batch, frame in frames.items()}
    finding = (
        "D's mean loss in the last epoch:"
        f" {', '.join(f'{loss:.4g} at {batch}' for batch, loss in last.items())}."
    )
    verdict = _rising(family, list(last.values()))
    return StudyResult(
        key,
        title,
        claim,
        verdict,
        finding,
        how,
        study_losses.loss_curves(frames, family.what),
        _table(frames, family.name),
        family.groups,
    )


def _rising(family: Family, values: list[float]) -> Verdict:
    """Whether they rise from each batch size to the next; over another setting the paper claims
    nothing."""
    if family.name != "batch_size":
        return UNTESTED
    return REPRODUCED if all(before < later for before, later in pairwise(values)) else NOT_HERE


def fig8(data: StudyData) -> StudyResult:
    key, title = "fig8", "Fig. 8: histograms of the losses, epoch by epoch"
    claim = (
        "The losses of every epoch concentrate; trends are drawn over them. (The figure has no"
        " numbers to check.)"
    )
    how = (
        "Each column shows the distribution of the step losses in an epoch of the first seed. The"
        f" line is the moving average of the mean over {TREND_EPOCHS} epochs."
    )
    family = data.curves()
    if family is None:
        return StudyResult(key, title, claim, UNTESTED, data.lacking(_needed(data)), how)
    found, rows = {}, []
    for batch, runs in family.cells.items():
        for net in ("g", "d"):
            epochs, edges, counts = series.loss_histograms(
                data.engine, runs[0].id, net=net, robust=True
            )
            means = data.epochs[runs[0].id].set_index("epoch")[f"{net}_loss"].reindex(epochs)
            trend = means.rolling(TREND_EPOCHS, min_periods=1).mean().to_numpy(dtype=np.float64)
            found[batch, net] = epochs, edges, counts, trend
            middle = (edges[:-1] + edges[1:]) / 2
            rows += [
                (batch, net, epoch, loss, int(count))
                for epoch, line in zip(epochs, counts, strict=True)
                for loss, count in zip(middle, line, strict=True)
                if count
            ]
    table = pd.DataFrame(rows, columns=[family.name, "net", "epoch", "loss", "steps"])
    widths = {
        batch: float(np.mean([_width(data, run) for run in runs]))
        for batch, runs in family.cells.items()
    }
    finding = (
        "Middle half of G's losses within an epoch spans, on average over the last half of the"
        f" run: {', '.join(f'{width:.3g} at {batch}' for batch, width in widths.items())}."
    )
    return StudyResult(
        key,
        title,
        claim,
        UNTESTED,
        finding,
        how,
        study_losses.histograms(found, family.what),
        table,
    )


def _width(data: StudyData, run: Run) -> float:
    """Mean interquartile range of G's losses over the epochs of the last half."""
    losses = series.step_losses(data.engine, run.id, points=100_000)
    late = losses[losses["epoch"] > run.epoch / 2]
    quartiles = (
        late.groupby(np.ceil(late["epoch"]))["g_loss"].quantile(np.array([0.25, 0.75])).unstack()
    )
    return float((quartiles[0.75] - quartiles[0.25]).mean())


def fig10(data: StudyData) -> StudyResult:
    key, title = "fig10", "Fig. 10: loss optimisation"
    claim = (
        "The loss is optimised best at batch 256 and 512: optimisation improves as the batch grows."
    )
    how = (
        f"Lowest sum of both losses so far, smoothed over the steps (weight {SMOOTHING}), by"
        " epoch; mean over seeds. A low sum does not imply good images."
    )
    family = data.curves()
    if family is None:
        return StudyResult(key, title, claim, UNTESTED, data.lacking(_needed(data)), how)
    frames = {batch: _best_so_far(data, runs) for batch, runs in family.cells.items()}
    ends = {batch: float(frame["best"].iloc[-1]) for batch, frame in frames.items()}
    finding = (
        "Lowest smoothed sum of losses:"
        f" {', '.join(f'{best:.4g} at {batch}' for batch, best in ends.items())}."
    )
    verdict = _rising(family, [-best for best in ends.values()])
    return StudyResult(
        key,
        title,
        claim,
        verdict,
        finding,
        how,
        study_losses.best_so_far(frames, family.what),
        _table(frames, family.name),
        family.groups,
    )


def _best_so_far(data: StudyData, runs: list[Run]) -> pd.DataFrame:
    """Columns epoch and best at the end of each epoch, mean over the runs."""
    courses = []
    for run in runs:
        losses = series.step_losses(data.engine, run.id, points=100_000)
        smoothed = reduction.smooth(
            (losses["g_loss"] + losses["d_loss"]).to_numpy(dtype=np.float64), SMOOTHING
        )
        courses.append(
            pd.Series(np.fmin.accumulate(smoothed), index=np.ceil(losses["epoch"]))
            .groupby(level=0)
            .last()
        )
    return pd.concat(courses, axis=1).mean(axis=1).rename("best").rename_axis("epoch").reset_index()


def quality(data: StudyData) -> StudyResult:
    key, title = "quality", "Seconds to a quality"
    claim = (
        "Larger batches train faster. (The study gives time per epoch alone, which hides that they"
        " take fewer steps.)"
    )
    how = (
        "Training seconds until the main metric (FID for a DCGAN, by the features of its"
        " evaluation; objective for a 3DGAN; L1 for pix2pix) first reached the best value that"
        " all groups reached. Since batch sizes differ in steps per epoch, this shows the actual"
        " benefit of a larger batch."
    )
    families = [
        family
        for name in (data.axis, "precision", "schedule")
        for family in data.families(name)[:1]
    ]
    evaluated = series.quality_frame(data.engine, [run.id for run in data.runs], METRICS)
    measures = {run.id: headline(run.config) for run in data.runs}
    evaluated["headline"] = [row[measures[row["run_id"]]] for _, row in evaluated.iterrows()]
    evaluated = evaluated[np.isfinite(evaluated["headline"].astype(float))]
    family = next(
        (
            one
            for one in families
            if all(
                evaluated["run_id"].isin([run.id for run in runs]).any()
                for runs in one.cells.values()
            )
        ),
        None,
    )
    if family is None:
        lacking = f"Needs evaluated runs (quality_every) that differ only in {data.axis}."
        return StudyResult(key, title, claim, UNTESTED, data.lacking(lacking), how)
    metric = METRICS[headline(family.common)]
    sources = [recorded(run.facts) for runs in family.cells.values() for run in runs]
    if metric.by_features and (sentence := conflict(metric.label, sources)):
        return StudyResult(key, title, claim, UNTESTED, sentence, how)
    rows = {
        value: evaluated[evaluated["run_id"].isin([run.id for run in runs])]
        for value, runs in family.cells.items()
    }
    measure = metric.name
    goal = max(float(found.groupby("run_id")[measure].min().max()) for found in rows.values())
    reached = {value: _first(found, measure, goal) for value, found in rows.items()}
    text = ", ".join(f"{seconds.mean():.4g} s at {value}" for value, seconds in reached.items())
    quickest = min(reached, key=lambda value: float(reached[value].mean()))
    wanted = f"{metric.called(sources[0])} {goal:.3g}"
    finding = f"To {wanted}: {text}. The fastest is {family.what.lower()} {quickest}."
    verdict = UNTESTED
    if family.name == "batch_size":
        verdict = REPRODUCED if quickest == max(reached) else NOT_HERE
    measured = set(evaluated["run_id"])
    groups = [[run for run in runs if run.id in measured] for runs in family.groups]
    table = pd.concat(found.assign(**{family.name: value}) for value, found in rows.items())
    # ids are random: the same study twice has the same order
    order = {run.id: place for place, run in enumerate(data.runs)}
    table = table.iloc[table["run_id"].map(order).argsort(kind="stable")][
        [family.name, "run_id", "epoch", "training_seconds", measure]
    ]
    return StudyResult(
        key,
        title,
        claim,
        verdict,
        finding,
        how,
        study.seconds_to_quality(reached, wanted, family.what),
        table,
        groups,
    )


def _first(found: pd.DataFrame, measure: str, goal: float) -> npt.NDArray[np.float64]:
    """Training seconds of each run's first evaluation as good as `goal`."""
    seconds = found[found[measure] <= goal].groupby("run_id")["training_seconds"].min()
    return seconds.to_numpy(dtype=np.float64)
