"""Runs in the states that tests begin with, and what a test may ask about them."""

from __future__ import annotations

from multiprocessing import get_context
from typing import Any

import numpy as np
from sqlalchemy import Engine, text
from sqlmodel import SQLModel

from ganboard.db.models import Run, SystemSample
from ganboard.db.runs import checkpoint_reports, commands, queries, reports

STEPS = 4  # per epoch
IN_FORK = get_context("fork")


def submitted(engine: Engine, name: str = "a run", **config: Any) -> str:
    return commands.create_run(engine, name=name, config={"batch_size": 64, **config}).id


def claimed(
    engine: Engine, run_id: str | None = None, *, lease_seconds: float = 60.0
) -> dict[str, Any]:
    """Whose run it is, as keyword arguments for the commands: run_id and attempt."""
    claim = commands.claim(
        engine, run_id=run_id or submitted(engine), worker="w-1", lease_seconds=lease_seconds
    )
    assert claim is not None
    return {"run_id": claim.run_id, "attempt": claim.attempt}


def training(
    engine: Engine, run_id: str | None = None, *, start_step: int = 0, **options: Any
) -> dict[str, Any]:
    own = claimed(engine, run_id, **options)
    start(engine, own, start_step)
    reports.set_phase(engine, **own, phase="training")
    return own


def start(engine: Engine, own: dict[str, Any], start_step: int = 0) -> None:
    reports.set_started(
        engine,
        **own,
        hardware={"host": "box"},
        examples=STEPS * 64,
        steps_per_epoch=STEPS,
        start_step=start_step,
        g_parameters=3,
        d_parameters=2,
    )


def in_status(engine: Engine, status: str) -> str:
    """A run in any of the seven states."""
    if status == "queued":
        return submitted(engine)
    if status == "starting":
        return str(claimed(engine)["run_id"])
    own = training(engine)
    if status != "running":
        commands.finish(
            engine, **own, status=status, error="It broke." if status == "failed" else None
        )
    return str(own["run_id"])


def steps(
    engine: Engine,
    own: dict[str, Any],
    epoch: int,
    first: int,
    g: list[float],
    d: list[float] | None = None,
    **series: list[float],
) -> None:
    g_losses, d_losses = np.array(g, dtype=np.float32), np.array(d or g, dtype=np.float32)
    further = {name: np.array(values, dtype=np.float32) for name, values in series.items()}
    reports.append_steps(
        engine,
        **own,
        epoch=epoch,
        first=first,
        g_losses=g_losses,
        d_losses=d_losses,
        series=further,
    )


def finish_epoch(
    engine: Engine,
    own: dict[str, Any],
    epoch: int,
    g_loss: float = 0.5,
    d_loss: float = 1.5,
    seconds: float = 2.0,
    measures: dict[str, float] | None = None,
) -> None:
    reports.finish_epoch(
        engine,
        **own,
        epoch=epoch,
        steps=STEPS,
        images=STEPS * 64,
        g_loss=g_loss,
        d_loss=d_loss,
        seconds=seconds,
        compile_seconds=0.25,
        g_path=(1.0, 2.0),
        d_path=(3.0, 4.0),
        measures=measures,
    )


def quality(
    engine: Engine,
    own: dict[str, Any],
    epoch: int,
    training_seconds: float = 2.0,
    **measures: float,
) -> None:
    histogram = (0.5, 0.25, 0.25)
    reports.add_quality(
        engine,
        **own,
        epoch=epoch,
        seconds=0.5,
        training_seconds=training_seconds,
        measures=measures or {"fid": 9.0},
        histogram=histogram,
    )


def checkpoint(
    engine: Engine, own: dict[str, Any], step: int, keep: int = 3, machine: str | None = None
) -> None:
    saved = {"step": step, "epoch": step // STEPS, "digest": f"digest {step}", "size": 1 << 40}
    checkpoint_reports.add_checkpoint(engine, **own, **saved, keep=keep, machine=machine)


def sample(own: dict[str, Any]) -> SystemSample:
    return SystemSample(**own, cpu_percent=12.5, rss_bytes=1e9, memory_percent=50.0)


def stored(engine: Engine, run_id: str) -> Run:
    run = queries.get_run(engine, run_id)
    assert run is not None
    return run


def texts(engine: Engine, run_id: str) -> list[str]:
    """The words of the run's events, oldest first."""
    return [event.text for event in queries.events(engine, run_id, limit=None)][::-1]


def contents(engine: Engine) -> dict[str, list[Any]]:
    """Every row of every table, as the database has it."""
    with engine.connect() as connection:
        return {
            table.name: sorted(
                map(repr, connection.execute(text(f"SELECT * FROM {table.name}")).all())
            )
            for table in SQLModel.metadata.sorted_tables
        }
