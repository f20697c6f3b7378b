"""Runs to make the results of a study from, and the results made from them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ganboard.db.models import Run
from ganboard.db.runs import queries
from ganboard.worker.context import Context
from ganboard.worker.studies import results
from ganboard.worker.studies.results.claims import SEEDS
from ganboard.worker.studies.results.study_data import StudyData, StudyResult

MakeRun = Callable[..., Run]
PIX2PIX = {"model": "pix2pix", "dataset": "vortex_street", "geometry": "64x64"}
GAN3D = {"model": "gan3d", "dataset": "showers"}
IMAGES = 6144


def study_run(make_run: MakeRun, batch: int, seconds: float, **changes: Any) -> Run:
    """A finished run of 6 epochs that each took so many seconds."""
    steps = IMAGES // batch
    changes = {"dataset": "mnist", "limit": IMAGES, "epochs": 6, "batch_size": batch, **changes}
    return make_run(f"batch {batch}", steps_per_epoch=steps, seconds_per_epoch=seconds, **changes)


def data(context: Context) -> StudyData:
    return StudyData.of(context.engine, queries.list_runs(context.engine))


def made(context: Context, name: str) -> StudyResult:
    found = data(context)
    return results._claimed(found, name, results.MAKERS[name](found))


def seeded(make_run: MakeRun, batch: int, seconds: float, **changes: Any) -> list[Run]:
    """As many seeds of a `study_run` as a verdict needs."""
    return [study_run(make_run, batch, seconds, seed=seed, **changes) for seed in range(SEEDS)]
