"""A run taken through its attempt by hand, with losses of the test's choice."""

from __future__ import annotations

from typing import Any

import numpy as np

from ganboard.db.models import Run
from ganboard.db.runs import commands, queries, reports
from ganboard.gan import presets
from ganboard.worker.context import Context
from tests.factories import HARDWARE


def own(run: Run) -> dict[str, Any]:
    """What names the run's attempt in a report of it."""
    return {"run_id": run.id, "attempt": run.attempt}


def claimed(context: Context, *, run_id: str | None = None, epochs: int = 2) -> Run:
    config = presets.load("tiny", {"epochs": epochs}).model_dump(mode="json")
    if run_id is None:
        run_id = commands.create_run(context.engine, name="a run", config=config).id
    assert commands.claim(context.engine, run_id=run_id, worker="testbox-1", lease_seconds=60)
    reports.set_started(
        context.engine,
        run_id=run_id,
        attempt=1,
        hardware=HARDWARE,
        examples=128,
        steps_per_epoch=4,
        start_step=0,
        g_parameters=1,
        d_parameters=1,
    )
    reports.set_phase(context.engine, run_id=run_id, attempt=1, phase="training")
    run = queries.get_run(context.engine, run_id)
    assert run is not None
    return run


def finish_epoch(context: Context, run: Run, epoch: int, g_loss: float, d_loss: float) -> None:
    losses = np.full(4, 0.5, np.float32)
    reports.append_steps(
        context.engine,
        run_id=run.id,
        attempt=1,
        epoch=epoch,
        first=0,
        g_losses=losses,
        d_losses=losses,
    )
    reports.finish_epoch(
        context.engine,
        run_id=run.id,
        attempt=1,
        epoch=epoch,
        steps=4,
        images=128,
        g_loss=g_loss,
        d_loss=d_loss,
        seconds=2.0,
        compile_seconds=0.0,
        g_path=(0.0, 0.0),
        d_path=(0.0, 0.0),
        measures={"compute_seconds": 1.5, "host_seconds": 0.5},
    )
    measures = {"fid": 10.0 / epoch, "recall": 0.5}
    reports.add_quality(
        context.engine,
        run_id=run.id,
        attempt=1,
        epoch=epoch,
        seconds=0.25,
        training_seconds=2.0 * epoch,
        measures=measures,
        histogram=[1.0],
    )
