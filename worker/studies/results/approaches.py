"""What replicas buy by loop, batch and strategy: approaches to distribution beside each other."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ganboard.db.models import Run
from ganboard.db.runs.runtime_estimation import placed
from ganboard.gan.studies import reference_results
from ganboard.worker import formatting
from ganboard.worker.figures import study
from ganboard.worker.studies.comparison_groups import alike
from ganboard.worker.studies.results.replicas import NEEDED, fraction
from ganboard.worker.studies.results.study_data import (
    NOT_HERE,
    REPRODUCED,
    UNTESTED,
    StudyData,
    StudyResult,
    apart,
    shared,
)
from ganboard.worker.studies.results.timing import CLOSE, later_seconds

Place = tuple[str, int]  # strategy and number of replicas
Floats = npt.NDArray[np.float64]
COLUMNS = [
    "runs", "strategy", "replicas", "seconds_per_epoch", "images_per_second", "speedup",
    "efficiency", "karp_flatt",
]  # fmt: skip
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
    claim = " ".join(text for model, text in CLAIMS.items() if model in data.models)
    how = (
        "Training seconds per epoch, averaged over the seeds and all epochs after the first;"
        " speed-up over one replica with the same settings, whose batch is divided among the"
        " replicas (in the papers it grew with them). Model, loss terms and input pipeline are the"
        " same in all runs. mirrored: devices of one process; multi_worker: one process each."
    )
    result = partial(
        StudyResult,
        "approaches",
        "Approaches: replicas by loop, batch and strategy",
        claim,
        how=how,
    )
    lines = _lines(data)
    if not lines:
        return result(UNTESTED, data.lacking(NEEDED))
    rows = [row for line in lines for row in line.rows()]
    if "gan3d" in data.models:
        rows += _published_3dgan()
    rates: dict[str, Floats] = {}
    # speed-ups by what is equal but the loop, then by loop
    gains: dict[tuple[str, str, int], dict[str, float]] = {}
    for line in lines:
        rates |= line.rates()
        for strategy, replicas in line.seconds:
            if replicas > 1:
                by_loop = gains.setdefault((line.without_loop, strategy, replicas), {})
                by_loop[line.loop] = line.speedup((strategy, replicas))
    compared = [runs for line in lines for runs in line.runs.values()]
    note = shared(run for runs in compared for run in runs)
    pairs = [by_loop for by_loop in gains.values() if {"custom", "fit"} <= by_loop.keys()]
    verdict = UNTESTED
    if data.models == {"gan3d"} and pairs and not note:
        quicker = all(one["custom"] > one["fit"] * (1 + CLOSE) for one in pairs)
        verdict = REPRODUCED if quicker else NOT_HERE
    return result(
        verdict,
        f"{'. '.join(line.sentence() for line in lines)}.{note}",
        figure=study.devices(rates),
        table=pd.DataFrame(rows, columns=COLUMNS),
        rests_on=compared,
    )


@dataclass(frozen=True)
class _Line:
    """Runs that differ in where they trained and in their seed alone."""

    name: str
    without_loop: str  # what the name would be without the loop
    loop: str
    runs: dict[Place, list[Run]]
    seconds: dict[Place, Floats]  # of an epoch
    images: dict[Place, float]  # of an epoch

    @property
    def alone(self) -> float:
        """Mean seconds of an epoch on one replica."""
        return next(
            float(values.mean()) for (_, replicas), values in self.seconds.items() if replicas == 1
        )

    def speedup(self, place: Place) -> float:
        return self.alone / float(self.seconds[place].mean())

    def rows(self) -> list[tuple[Any, ...]]:
        """By COLUMNS."""
        found: list[tuple[Any, ...]] = []
        for place, values in self.seconds.items():
            ratio, mean, replicas = self.speedup(place), float(values.mean()), place[1]
            gain = ratio, ratio / replicas, fraction(ratio, replicas)
            found.append((self.name, *place, mean, self.images[place] / mean, *gain))
        return found

    def rates(self) -> dict[str, Floats]:
        """Seconds per image of each run, by place in words."""
        found = {}
        for (strategy, replicas), values in self.seconds.items():
            label = f"{self.name}, {formatting.plural(replicas, 'replica')}"
            key = f"{label} ({strategy})" if replicas > 1 else label
            found[key] = values / self.images[strategy, replicas]
        return found

    def sentence(self) -> str:
        more = (
            f"{self.speedup((strategy, count)):.2f} on {count} ({strategy})"
            for strategy, count in self.seconds
            if count > 1
        )
        return (
            f"{self.name.capitalize()}: {self.alone:.3g} s an epoch on one replica, speed-up"
            f" {', '.join(more)}"
        )


def _lines(data: StudyData) -> list[_Line]:
    """All with one replica and several."""
    found = [
        (common, by_place)
        for common, runs in alike(data.runs, "replicas", "strategy")
        if len(by_place := _by_place(runs)) > 1 and any(replicas == 1 for _, replicas in by_place)
    ]
    names = apart([common for common, _ in found])
    without_loop = apart([{**common, "loop": ""} for common, _ in found])
    lines = []
    for text, others, (common, by_place) in zip(names, without_loop, found, strict=True):
        where = data.where(next(iter(by_place.values()))[0])
        seconds = {place: later_seconds(data, runs) for place, runs in by_place.items()}
        images = {
            place: float(data.epochs[runs[0].id]["images"].iloc[0])
            for place, runs in by_place.items()
        }
        loop = str(common["loop"])
        lines.append(_Line(text + where, others + where, loop, by_place, seconds, images))
    return lines


def _by_place(runs: list[Run]) -> dict[Place, list[Run]]:
    """Runs by strategy and number of replicas, the fewest first."""
    found: dict[Place, list[Run]] = {}
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
                    fraction(ratio, times),
                )
            )
    return rows
