"""What more replicas buy: measured beside published speed-ups, and what is to be expected of
numbers that were not tried."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ganboard.db.models import Run
from ganboard.db.runs import series
from ganboard.db.runs.runtime_estimation import placed
from ganboard.gan.config import diff
from ganboard.gan.studies import reference_results, scaling_laws
from ganboard.worker import formatting
from ganboard.worker.figures import study
from ganboard.worker.studies.comparison_groups import Family, alike, machine
from ganboard.worker.studies.results.study_data import (
    NOT_HERE,
    REPRODUCED,
    UNTESTED,
    StudyData,
    StudyResult,
    apart,
    per_seed,
    shared,
)
from ganboard.worker.studies.results.timing import CLOSE, later_seconds, law_of, per_image

MULTI_GPU = {1: 1.0, **reference_results.by_devices("multi-gpu")}
PUBLISHED = {
    "Theirs: multi-GPU GAN, GPUs": MULTI_GPU,
    "Theirs: 3DGAN, V100 over two": scaling_laws.speedups(
        reference_results.by_devices("3dgan", "with prefetch")
    ),
}
TRIED = (1, 2, 4, 8, 16, 32)
NEEDED = "Two finished runs are needed that differ in replicas alone."


def _seconds(family: Family) -> dict[int, float]:
    """Mean seconds per image over the seeds, by number of replicas."""
    return {count: float(per_seed(runs, per_image).mean()) for count, runs in family.cells.items()}


def scaled(data: StudyData) -> StudyResult:
    key, title = "scaling", "Scaling: speed-up by number of replicas"
    claim = (
        "Four GPUs are 1.7792 times as fast as one (multi-GPU GAN); 128 V100 train a 3DGAN 51 times"
        " as fast as two. Neither is linear."
    )
    how = (
        "Seconds per image of runs that differ in replicas and seed alone, over those of one"
        " replica. The curve is Amdahl's law with the serial share that fits best; the Karp-Flatt"
        " share of each point shows whether that share is one. Published points are theirs."
    )
    family = data.family("replicas")
    if family is None or 1 not in family.cells:
        return StudyResult(key, title, claim, UNTESTED, data.lacking(NEEDED), how)
    seconds = _seconds(family)
    measured = {count: seconds[1] / seconds_each for count, seconds_each in seconds.items()}
    serial = scaling_laws.fit_amdahl(measured)
    rows = [
        ("here", count, ratio, ratio / count, _fraction(ratio, count))
        for count, ratio in measured.items()
    ]
    for source, points in PUBLISHED.items():
        rows += [
            (source, count, ratio, ratio / count, _fraction(ratio, count))
            for count, ratio in points.items()
        ]
    table = pd.DataFrame(
        rows, columns=["source", "replicas", "speedup", "efficiency", "karp_flatt"]
    )
    limit = (
        f"at most {1 / serial:.3g} times as fast, however many" if serial > 0 else "no limit shows"
    )
    if serial >= 1:
        limit = "more replicas gain nothing here, as when they share the processors"
    ratios = ", ".join(f"{ratio:.2f} on {count}" for count, ratio in measured.items())
    finding = (
        f"At batch {family.common['batch_size']}: {ratios}. Serial share {100 * serial:.0f} %:"
        f" {limit}. "
    )
    finding += f"The published GPU points fit {100 * scaling_laws.fit_amdahl(MULTI_GPU):.0f} %."
    finding += shared(run for runs in family.cells.values() for run in runs)
    plot = study.speedups({"Measured here": measured, **PUBLISHED}, serial)
    return StudyResult(key, title, claim, UNTESTED, finding, how, plot, table)


def _fraction(ratio: float, count: int) -> float:
    return scaling_laws.karp_flatt(ratio, count) if count > 1 else np.nan


THEIRS_EPOCH = 124_987  # showers of an epoch of the published 3DGAN
CLAIMS = {
    "gan3d": (
        "A loop of one's own speeds 3DGAN up more than the built-in logic of the strategies does"
        " (no number is printed)."
    ),
    "pix2pix": "More cores pay in training, with large batches (pix2pix on TPU).",
    "dcgan": (
        "Both the built-in logic and a custom loop gain by more GPUs, and not in proportion"
        " (multi-GPU GAN)."
    ),
}


def approaches(data: StudyData) -> StudyResult:
    key, title = "approaches", "Approaches: replicas by loop, batch and strategy"
    claim = " ".join(text for model, text in CLAIMS.items() if model in data.models)
    how = (
        "Seconds of an epoch's training steps, mean over the epochs after the first and over the"
        " seeds; speed-up over one replica with the same settings, whose batch is divided among the"
        " replicas (theirs grew with them). Model, loss terms and input pipeline are the same in"
        " all. mirrored: devices of one process; multi_worker: one process each."
    )
    lines = [
        (common, by_place)
        for common, runs in alike(data.runs, "replicas", "strategy")
        if len(by_place := _by_place(runs)) > 1 and any(replicas == 1 for _, replicas in by_place)
    ]
    if not lines:
        return StudyResult(key, title, claim, UNTESTED, data.lacking(NEEDED), how)
    rows, rates, said = [], {}, []
    # speed-ups by what is equal but the loop, then by loop
    gains: dict[tuple[str, str, int], dict[str, float]] = {}
    names = apart([common for common, _ in lines])
    without_loop = apart([{**common, "loop": ""} for common, _ in lines])
    for text, others, (common, by_place) in zip(names, without_loop, lines, strict=True):
        where = data.where(next(iter(by_place.values()))[0])
        name, rest = text + where, others + where
        seconds = {place: later_seconds(data, runs) for place, runs in by_place.items()}
        one = next(
            float(values.mean()) for (_, replicas), values in seconds.items() if replicas == 1
        )
        for (strategy, replicas), values in seconds.items():
            images, mean = (
                float(data.epochs[by_place[strategy, replicas][0].id]["images"].iloc[0]),
                float(values.mean()),
            )
            ratio = one / mean
            rows.append(
                (
                    name,
                    strategy,
                    replicas,
                    mean,
                    images / mean,
                    ratio,
                    ratio / replicas,
                    _fraction(ratio, replicas),
                )
            )
            rates[
                f"{name},"
                f" {formatting.plural(replicas, 'replica')}{f' ({strategy})' if replicas > 1 else ''}"
            ] = values / images
            if replicas > 1:
                gains.setdefault((rest, strategy, replicas), {})[str(common["loop"])] = ratio
        more = (
            f"{one / float(values.mean()):.2f} on {count} ({strategy})"
            for (strategy, count), values in seconds.items()
            if count > 1
        )
        said.append(
            f"{name.capitalize()}: {one:.3g} s an epoch on one replica, speed-up {', '.join(more)}"
        )
    columns = [
        "runs",
        "strategy",
        "replicas",
        "seconds_per_epoch",
        "images_per_second",
        "speedup",
        "efficiency",
        "karp_flatt",
    ]
    table = pd.DataFrame(
        [*rows, *(_published_3dgan() if "gan3d" in data.models else [])], columns=columns
    )
    note = shared(run for _, by_place in lines for runs in by_place.values() for run in runs)
    pairs = [by_loop for by_loop in gains.values() if {"custom", "fit"} <= by_loop.keys()]
    compared = [runs for _, by_place in lines for runs in by_place.values()]
    verdict = UNTESTED
    if data.models == {"gan3d"} and pairs and not note:
        verdict = (
            REPRODUCED
            if all(one["custom"] > one["fit"] * (1 + CLOSE) for one in pairs)
            else NOT_HERE
        )
    return StudyResult(
        key,
        title,
        claim,
        verdict,
        f"{'. '.join(said)}.{note}",
        how,
        study.devices(rates),
        table,
        compared,
    )


def _by_place(runs: list[Run]) -> dict[tuple[str, int], list[Run]]:
    """Runs by strategy and number of replicas, the fewest first."""
    found: dict[tuple[str, int], list[Run]] = {}
    for run in sorted(runs, key=lambda run: int(run.config["replicas"])):
        found.setdefault(placed(run.config), []).append(run)
    return found


def _published_3dgan() -> list[tuple[Any, ...]]:
    """Rows of theirs: V100 GPUs with prefetch, over two of them, and TPU cores, over eight."""
    rows: list[tuple[Any, ...]] = []
    for device, fewest in (("V100", 2), ("TPU v2", 8), ("TPU v3", 8)):
        known = [
            one
            for one in reference_results.REFERENCES
            if (one.document, one.device) == ("3dgan", device) and one.note != "without prefetch"
        ]
        base = next(one.value for one in known if one.devices == fewest)
        for one in known:
            ratio, times = base / one.value, one.devices // fewest
            rows.append(
                (
                    f"theirs: {device}, over {fewest}",
                    "",
                    one.devices,
                    one.value,
                    THEIRS_EPOCH / one.value,
                    ratio,
                    ratio / times,
                    _fraction(ratio, times),
                )
            )
    return rows


def forecast(data: StudyData) -> StudyResult:
    key, title = "forecast", "Forecast: numbers of replicas that were not tried"
    claim = (
        "Stragglers are named as the limit of synchronous training; the study leaves open what they"
        " cost."
    )
    how = (
        "A FORECAST, not a measurement. It takes t(B) and the scatter of steps (median, 95th"
        " percentile, maximum) from runs on one replica and the undivided share from the measured"
        " speed-ups. It assumes that replicas scatter independently, share no processor and wait"
        " for the slowest. The bar ends at the 95th percentile of single steps."
    )
    pairs = [
        (batches, counts)
        for batches in data.families("batch_size")
        for counts in data.families("replicas")
        if 1 in counts.cells and _equal_otherwise(batches, counts)
    ]
    if not pairs:
        lacking = (
            "Finished runs are needed that differ in batch size alone, and some that differ in"
            " replicas alone."
        )
        return StudyResult(key, title, claim, UNTESTED, data.lacking(lacking), how)
    batches, counts = pairs[0]
    law, batch = law_of(batches), int(counts.common["batch_size"])
    seconds = _seconds(counts)
    serial = float(
        np.clip(
            scaling_laws.fit_amdahl(
                {count: seconds[1] / seconds_each for count, seconds_each in seconds.items()}
            ),
            0,
            1,
        )
    )
    steps = _scatter(data, counts)
    expected = {
        count: scaling_laws.forecast(
            law, batch=batch, replicas=count, relative_steps=steps, serial=serial
        )
        for count in TRIED
        if count <= batch
    }
    rows = [
        (
            count,
            1000 * one.seconds,
            1000 * one.high,
            one.speedup(expected[1]),
            one.waiting,
            1000 * seconds[count] * batch if count in seconds else np.nan,
        )
        for count, one in expected.items()
    ]
    table = pd.DataFrame(
        rows,
        columns=[
            "replicas",
            "milliseconds",
            "milliseconds_p95",
            "speedup",
            "waiting",
            "measured_milliseconds",
        ],
    )
    known = table.dropna(subset=["measured_milliseconds"])
    error = float((known["milliseconds"] / known["measured_milliseconds"] - 1).abs().max())
    last = expected[max(expected)]
    finding = (
        _held_out(batches) + f"At batch {batch}, {max(expected)} replicas are expected to be"
        f" {last.speedup(expected[1]):.2f} times as fast as one, and to wait"
        f" {100 * last.waiting:.0f} % of the time for the slowest. Where it was measured the"
        f" forecast is off by at most {100 * error:.0f} %."
    )
    finding += shared(run for runs in counts.cells.values() for run in runs)
    return StudyResult(key, title, claim, UNTESTED, finding, how, study.forecast(table), table)


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
    return (
        "Held out one by one, the seconds of each batch size are predicted from the others with"
        f" these errors: {text}. "
    )


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
