"""What more replicas buy: measured beside published speed-ups, and what is to be expected of
numbers that were not tried."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ganboard.db.curves import series
from ganboard.gan.config import diff
from ganboard.gan.studies import reference_results, scaling_laws
from ganboard.worker.figures import study
from ganboard.worker.studies.comparison_groups import Family, machine
from ganboard.worker.studies.results.study_data import (
    UNTESTED,
    StudyData,
    StudyResult,
    per_seed,
    shared,
)
from ganboard.worker.studies.results.timing import law_of, per_image

MULTI_GPU = {1: 1.0, **reference_results.by_devices("multi-gpu")}
PUBLISHED = {
    "Theirs: multi-GPU GAN, GPUs": MULTI_GPU,
    "Theirs: 3DGAN, V100 over two": scaling_laws.speedups(
        reference_results.by_devices("3dgan", "with prefetch")
    ),
}
TRIED = (1, 2, 4, 8, 16, 32)
NEEDED = "Needs two finished runs that differ only in replicas."


def _seconds(family: Family) -> dict[int, float]:
    """Mean seconds per image over the seeds, by number of replicas."""
    return {count: float(per_seed(runs, per_image).mean()) for count, runs in family.cells.items()}


def scaled(data: StudyData) -> StudyResult:
    claim = (
        "Four GPUs are 1.7792 times as fast as one (multi-GPU GAN); 128 V100 train a 3DGAN 51 times"
        " as fast as two. Neither is linear."
    )
    how = (
        "Speed-up in seconds per image over one replica, for runs that differ only in replicas and"
        " seed. The curve is Amdahl's law with the best-fitting serial fraction; the Karp-Flatt"
        " metric of each point shows whether that fraction is constant. Published points are shown"
        " for comparison."
    )
    result = partial(
        StudyResult, "scaling", "Scaling: speed-up by number of replicas", claim, how=how
    )
    family = data.family("replicas")
    if family is None or 1 not in family.cells:
        return result(UNTESTED, data.lacking(NEEDED))
    measured = scaling_laws.speedups(_seconds(family))
    serial = scaling_laws.fit_amdahl(measured)
    rows = [
        (source, count, ratio, ratio / count, fraction(ratio, count))
        for source, points in {"here": measured, **PUBLISHED}.items()
        for count, ratio in points.items()
    ]
    table = pd.DataFrame(
        rows, columns=["source", "replicas", "speedup", "efficiency", "karp_flatt"]
    )
    limit = (
        f"at most {1 / serial:.3g} times as fast with any number of replicas"
        if serial > 0
        else "no limit visible"
    )
    if serial >= 1:
        limit = "more replicas give no speed-up here, for example because they share the processors"
    ratios = ", ".join(f"{ratio:.2f} on {count}" for count, ratio in measured.items())
    finding = (
        f"At batch {family.common['batch_size']}: {ratios}. Serial share {100 * serial:.0f} %:"
        f" {limit}. "
    )
    finding += f"The published GPU points fit {100 * scaling_laws.fit_amdahl(MULTI_GPU):.0f} %."
    finding += shared(run for runs in family.cells.values() for run in runs)
    plot = study.speedups({"Measured here": measured, **PUBLISHED}, serial)
    return result(UNTESTED, finding, figure=plot, table=table)


def fraction(ratio: float, count: int) -> float:
    """The Karp-Flatt metric; NaN for one replica."""
    return scaling_laws.karp_flatt(ratio, count) if count > 1 else np.nan


def forecast(data: StudyData) -> StudyResult:
    claim = (
        "Stragglers are named as the limit of synchronous training; the study leaves open what they"
        " cost."
    )
    how = (
        "A FORECAST, not a measurement. It uses t(B) and the distribution of step times (median,"
        " 95th percentile, maximum) from runs on one replica and the serial fraction from the"
        " measured speed-ups. It assumes that replicas vary independently, share no processor and"
        " wait for the slowest one. The bar ends at the 95th percentile of single steps."
    )
    result = partial(
        StudyResult, "forecast", "Forecast: untested numbers of replicas", claim, how=how
    )
    pairs = [
        (batches, counts)
        for batches in data.families("batch_size")
        for counts in data.families("replicas")
        if 1 in counts.cells and _equal_otherwise(batches, counts)
    ]
    if not pairs:
        lacking = (
            "Needs finished runs that differ only in batch size, and others that differ only in"
            " replicas."
        )
        return result(UNTESTED, data.lacking(lacking))
    batches, counts = pairs[0]
    law, batch = law_of(batches), int(counts.common["batch_size"])
    seconds = _seconds(counts)
    serial = float(np.clip(scaling_laws.fit_amdahl(scaling_laws.speedups(seconds)), 0, 1))
    steps = _scatter(data, counts)
    expected = {
        count: scaling_laws.forecast(
            law, batch=batch, replicas=count, relative_steps=steps, serial=serial
        )
        for count in TRIED
        if count <= batch
    }
    table = pd.DataFrame(
        {
            "replicas": count,
            "milliseconds": 1000 * one.seconds,
            "milliseconds_p95": 1000 * one.high,
            "speedup": one.speedup(expected[1]),
            "waiting": one.waiting,
            "measured_milliseconds": 1000 * seconds.get(count, np.nan) * batch,
        }
        for count, one in expected.items()
    )
    known = table.dropna(subset=["measured_milliseconds"])
    error = float((known["milliseconds"] / known["measured_milliseconds"] - 1).abs().max())
    last = expected[max(expected)]
    finding = (
        _held_out(batches) + f"At batch {batch}, {max(expected)} replicas are expected to be"
        f" {last.speedup(expected[1]):.2f} times as fast as one and to spend"
        f" {100 * last.waiting:.0f} % of the time waiting for the slowest"
        " one. For measured points the error of the forecast is at most"
        f" {100 * error:.0f} %."
    )
    finding += shared(run for runs in counts.cells.values() for run in runs)
    return result(UNTESTED, finding, figure=study.forecast(table), table=table)


def _equal_otherwise(batches: Family, counts: Family) -> bool:
    """Whether all runs of both are of one machine and differ in batch, replicas and seed alone."""
    differing = diff(batches.common, counts.common).keys()
    machines = {machine(family.groups[0][0]) for family in (batches, counts)}
    return differing <= {"batch_size", "replicas"} and len(machines) == 1


def _held_out(batches: Family) -> str:
    """How well measured batches predict one that was left out, in words; nothing with fewer than
    three."""
    points = [
        (batch, value)
        for batch, runs in batches.cells.items()
        for value in per_seed(runs, per_image)
    ]
    try:
        errors = scaling_laws.held_out(*zip(*points, strict=True))
    except scaling_laws.TooFew:
        return ""
    text = ", ".join(f"{100 * error:+.0f} % at {batch}" for batch, error in errors.items())
    return f"Leave-one-out errors of the predicted seconds per batch size: {text}. "


def _scatter(data: StudyData, counts: Family) -> npt.NDArray[Any]:
    """Seconds of steps on one replica over their median, 1 where none was measured.

    Of each epoch only three quantiles are stored: of 100 steps 90 count as the median, nine as the
    95th percentile, one as the maximum.
    """
    frame = series.measures_frame(data.engine, [run.id for run in counts.cells[1]])
    names = ["step_p50", "step_p95", "step_max"]
    if not set(names) <= set(frame.columns):
        return np.ones(1)
    rows = frame[names].dropna().to_numpy(dtype=np.float64)
    if not len(rows):
        return np.ones(1)
    relative = np.median(rows / rows[:, :1], axis=0)
    return np.concatenate([np.ones(90), np.full(9, relative[1]), np.full(1, relative[2])])
