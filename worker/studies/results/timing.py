"""Figs. 5, 6, 12 and 13: what batch size, XLA and devices cost and save in seconds."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ganboard.db.models import Run
from ganboard.db.runs.runtime_estimation import placed
from ganboard.gan.studies import scaling_laws
from ganboard.worker import formatting
from ganboard.worker.figures import study
from ganboard.worker.studies.comparison_groups import Family, alike
from ganboard.worker.studies.results.claims import NEEDS, missing
from ganboard.worker.studies.results.study_data import (
    NOT_HERE,
    REPRODUCED,
    UNTESTED,
    StudyData,
    StudyResult,
    per_seed,
    shared,
    spread,
)

REDUCTION = 0.79  # from batch 64 to 512 on 8 TPU cores: abstract and section 5.1
XLA_SPEEDUP = 1.15  # section 5.3
CLOSE = 0.05  # a ratio or share that differs by no more is as claimed


def _images(run: Run) -> int:
    return (run.steps_per_epoch or 0) * run.epoch * int(run.config["batch_size"])


def per_image(run: Run) -> float:
    """Seconds of training per image, compiling left out."""
    return run.seconds / _images(run) if _images(run) else np.nan


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
                "images": _images(run),
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
    key, title = "fig5", "Fig. 5: training time against batch size"
    claim = (
        "From batch 64 to 512 the training time on 8 TPU cores falls by 79 %. (One sentence of"
        " section 5.1 says that it rises.)"
    )
    how = (
        "Seconds of the training steps of whole runs that differ in batch size and seed alone,"
        " compiling left out; bars span the seeds. The curve is t(B) = n (b + a / B), fitted by"
        " least squares of the relative residuals: a is what a step costs whatever its batch."
    )
    family = data.family("batch_size")
    if family is None:
        return StudyResult(
            key,
            title,
            claim,
            UNTESTED,
            data.lacking("Two finished runs are needed that differ in batch size alone."),
            how,
        )
    law = law_of(family)
    images = float(np.median([_images(run) for runs in family.cells.values() for run in runs]))
    both = {64, 512} <= set(family.cells)
    measured = 1 - _mean(family, 512) / _mean(family, 64) if both else law.reduction(64, 512)
    source = "measured" if both else "by the fitted law, as these batches were not both run"
    finding = (
        f"From 64 to 512 the time changes by {-100 * measured:+.0f} % ({source}). a ="
        f" {1000 * law.per_step:.3g} ms per step, b = {1e3 * law.per_image:.3g} ms per image: a"
        f" step's fixed cost is worth {law.even_batch:.3g} images, and larger batches save less"
        " than half. A fall of 79 % needs 595 images."
    )
    verdict = REPRODUCED if abs(measured - REDUCTION) <= CLOSE else NOT_HERE
    plot = study.against_batch(
        {batch: per_seed(runs, lambda run: run.seconds) for batch, runs in family.cells.items()},
        law,
        images,
    )
    return StudyResult(
        key,
        title,
        claim,
        verdict,
        finding,
        how,
        plot,
        _rows(list(family.cells.items()), "batch_size"),
        family.groups,
    )


def _mean(family: Family, value: Any) -> float:
    """Mean seconds per image over the seeds of a value."""
    return float(per_seed(family.cells[value], per_image).mean())


def fig6(data: StudyData) -> StudyResult:
    key, title = "fig6", "Fig. 6: training time of every epoch"
    claim = "Epochs of larger batches take less time."
    how = (
        "Seconds of the steps of each epoch, mean over the seeds; the first epoch with its tracing"
        " and compiling, paid once, stands apart as a point."
    )
    family = data.curves()
    if family is None:
        return StudyResult(
            key,
            title,
            claim,
            UNTESTED,
            data.lacking(f"Two finished runs are needed that differ in {data.axis} alone."),
            how,
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
    if family.name != "batch_size":
        return StudyResult(
            key,
            title,
            claim,
            UNTESTED,
            finding,
            how,
            study.epoch_times(frames, family.what),
            table,
            family.groups,
        )
    verdict = REPRODUCED if falls and gained > CLOSE else NOT_HERE
    return StudyResult(
        key,
        title,
        claim,
        verdict,
        finding,
        how,
        study.epoch_times(frames, family.what),
        table,
        family.groups,
    )


def fig12(data: StudyData) -> StudyResult:
    key, title = "fig12", "Fig. 12: XLA off and on"
    claim = "With XLA the models run about 1.15 times quicker."
    how = (
        "Seconds per epoch of runs that differ in XLA and seed alone, mean over the seeds,"
        " compiling left out. On a TPU programs always go through XLA, so there is no other side."
    )
    families = data.families("xla")
    if not families:
        return StudyResult(
            key,
            title,
            claim,
            UNTESTED,
            data.lacking("Two finished runs are needed that differ in XLA alone."),
            how,
        )
    rows = []
    for family in families:
        off, on = (
            pd.concat(data.epochs[run.id] for run in family.cells[whether])
            for whether in (False, True)
        )
        seconds, compiling = (
            [float(frame[name].mean()) for frame in (off, on)]
            for name in ("seconds", "compile_seconds")
        )
        epochs, steps = float(off["epoch"].max()), float(off["steps"].mean())
        paid = scaling_laws.break_even(
            (compiling[1] - compiling[0]) * epochs, seconds[0] / steps, seconds[1] / steps
        )
        label = (
            f"batch {family.common['batch_size']}, {family.common['precision']},"
            f" {formatting.plural(family.common['replicas'], 'replica')}"
        )
        label += data.where(family.cells[True][0])
        rows.append(
            (label, *seconds, *(once * epochs for once in compiling), seconds[0] / seconds[1], paid)
        )
    names = [
        "runs",
        "seconds_off",
        "seconds_on",
        "compile_off",
        "compile_on",
        "speedup",
        "break_even_steps",
    ]
    table = pd.DataFrame(rows, columns=names)
    # another machine's few runs bar no verdict
    enough = [not missing(NEEDS[key], family.groups) for family in families]
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
        f"compiling is paid back after {paid:,.0f} steps"
        if np.isfinite(paid)
        else "compiling is never paid back"
    )
    finding = (
        f"With XLA an epoch is {ratio:.2f} times as quick (median of"
        f" {formatting.plural(len(counted), 'comparison')}); {back}."
    )
    verdict = REPRODUCED if abs(ratio - XLA_SPEEDUP) <= 2 * CLOSE else NOT_HERE
    return StudyResult(
        key, title, claim, verdict, finding, how, study.pairs(table), table, rests_on
    )


def fig13(data: StudyData) -> StudyResult:
    key, title = "fig13", "Fig. 13: devices at one batch size"
    claim = (
        "At batch 32 the multi-core TPU is 56.20 % faster than a CPU, 19.7 % than a GPU and 24.6 %"
        " than a TPU without distribution. “Faster” may mean less time or a higher rate: both are"
        " printed."
    )
    how = (
        "Seconds per image of the training steps on each device and number of replicas, at the"
        " smallest batch that was run, over all seeds. All other settings are equal: of several"
        " sets of such runs the largest is shown."
    )
    plain = [
        run
        for run in data.runs
        if not run.config["xla"] and run.config["schedule"] == "constant" and _images(run)
    ]
    if not plain:
        return StudyResult(
            key,
            title,
            claim,
            UNTESTED,
            data.lacking("A finished run without XLA and schedule is needed."),
            how,
        )
    least = min(int(run.config["batch_size"]) for run in plain)
    groups: dict[str, list[Run]] = {}
    for run in _equal_elsewhere([run for run in plain if run.config["batch_size"] == least]):
        groups.setdefault(device(run) + data.where(run), []).append(run)
    seconds_each = {name: per_seed(runs, per_image) for name, runs in groups.items()}
    slowest = max(seconds_each, key=lambda name: seconds_each[name].mean())
    rows = [
        (
            name,
            1000 * times.mean(),
            1 / times.mean(),
            1 - times.mean() / seconds_each[slowest].mean(),
            seconds_each[slowest].mean() / times.mean(),
        )
        for name, times in seconds_each.items()
    ]
    table = pd.DataFrame(
        rows,
        columns=[
            "device",
            "milliseconds_per_image",
            "images_per_second",
            "less_time",
            "times_as_fast",
        ],
    )
    finding = (
        f"Batch {least}: "
        + "; ".join(f"{name}: {spread(1 / times)} images/s" for name, times in seconds_each.items())
        + ". "
    )
    kinds = {name.partition(",")[0] for name in seconds_each}
    has = {kind for kind in ("CPU", "GPU", "TPU") if kind in kinds}
    finding += f"Only {' and '.join(sorted(has))} was there." if len(has) < 3 else ""
    finding += shared(run for runs in groups.values() for run in runs)
    verdict = UNTESTED if len(has) < 3 else _order(seconds_each)
    return StudyResult(
        key,
        title,
        claim,
        verdict,
        finding,
        how,
        study.devices(seconds_each),
        table,
        list(groups.values()),
    )


def _equal_elsewhere(runs: list[Run]) -> list[Run]:
    """The largest set of runs, of all machines, that differ in device, replicas, precision and seed
    alone."""
    sets: list[tuple[Mapping[str, Any], list[Run]]] = []
    for common, members in alike(runs, "replicas", "strategy", "precision"):
        same = next((known for settings, known in sets if settings == common), None)
        if same is None:
            sets.append((common, list(members)))
        else:
            same += members
    return max((members for _, members in sets), key=len)


def device(run: Run) -> str:
    """The kind of device a run trained on, its precision and its replicas with how they are spread."""
    hardware = run.hardware or {}
    kind = "TPU" if hardware.get("tpus") else "GPU" if hardware.get("gpus") else "CPU"
    strategy, replicas = placed(run.config)
    spread_by = f" ({strategy})" if replicas > 1 else ""
    return f"{kind}, {run.config['precision']}, {formatting.plural(replicas, 'replica')}{spread_by}"


def _order(seconds_each: dict[str, Any]) -> Any:
    """Whether the order is the paper's: distributed TPU, GPU, TPU alone, CPU."""

    def best(kind: str, several: bool) -> float:
        found = [
            times.mean()
            for name, times in seconds_each.items()
            if name.startswith(kind) and (", 1 replica" not in name) is several
        ]
        return min(found, default=np.inf)

    order = [best("TPU", True), best("GPU", False), best("TPU", False), best("CPU", False)]
    return REPRODUCED if order == sorted(order) and np.isfinite(order).all() else NOT_HERE
