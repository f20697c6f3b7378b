"""What a trainer reports. Every write names its attempt: when another attempt owns the run,
LeaseLost ends the writer."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from sqlalchemy import Engine, case, func
from sqlmodel import Session, col, select

from ganboard.db.clock import now
from ganboard.db.engine import writing
from ganboard.db.fence import fence, locked, note
from ganboard.db.models import (
    Epoch,
    Grid,
    Quality,
    Run,
    StepLosses,
    StepSeries,
    SystemSample,
    metric_rows,
)
from ganboard.db.runs import runtime_estimation

RUNNING = ("compiling", "training")  # phases from which on a run is no longer starting


def set_phase(engine: Engine, *, run_id: str, attempt: int, phase: str) -> None:
    with writing(engine) as session:
        status = {"status": "running"} if phase in RUNNING else {}
        begun: dict[str, Any] = {"phase": phase, "phase_progress": None}
        begun |= {"phase_since": now(), "progress_at": now()}
        fence(session, run_id, attempt, **begun, **status)


def set_phase_progress(engine: Engine, *, run_id: str, attempt: int, text: str) -> None:
    """How far the phase is, in words that hold until the next report or phase."""
    with writing(engine) as session:
        fence(session, run_id, attempt, phase_progress=text, progress_at=now())


def set_started(
    engine: Engine,
    *,
    run_id: str,
    attempt: int,
    hardware: dict[str, Any],
    examples: int,
    steps_per_epoch: int,
    start_step: int,
    g_parameters: int,
    d_parameters: int,
) -> None:
    """The networks are built, `start_step` steps restored."""
    with writing(engine) as session:
        fence(
            session,
            run_id,
            attempt,
            hardware=hardware,
            examples=examples,
            steps_per_epoch=steps_per_epoch,
            step=start_step,
            epoch=start_step // steps_per_epoch,
            g_parameters=g_parameters,
            d_parameters=d_parameters,
        )
        if start_step:
            epoch, step = divmod(start_step, steps_per_epoch)
            resumed = f"Resumed after epoch {epoch}, step {step} of the next."
            note(session, run_id, attempt, "info", resumed)


def append_steps(
    engine: Engine,
    *,
    run_id: str,
    attempt: int,
    epoch: int,
    first: int,
    g_losses: npt.NDArray[np.float32],
    d_losses: npt.NDArray[np.float32],
    series: Mapping[str, npt.NDArray[np.float32]] | None = None,
    images_per_second: float | None = None,
) -> None:
    """Losses and further `series` of steps `first`, `first`+1, ... (from 0) of an epoch; a repeated
    step is overwritten with the same bits.

    A series may begin later than the losses, as when a run resumes with a newer ganboard: values
    that were never reported are NaN.
    """
    with writing(engine) as session:
        # later it comes from the finished epochs
        measured = images_per_second is not None and epoch == 1
        rate = {"images_per_second": images_per_second} if measured else {}
        step: Any = (epoch - 1) * Run.steps_per_epoch + first + len(g_losses)  # type: ignore[operator]
        fence(
            session,
            run_id,
            attempt,
            step=step,
            g_loss=float(g_losses[-1]),
            d_loss=float(d_losses[-1]),
            # a repeated report is no progress
            progress_at=case((col(Run.step) < step, now()), else_=Run.progress_at),
            **rate,
        )
        row = session.get(StepLosses, (run_id, epoch))
        known = 0 if row is None else len(row.g_losses)
        if first > known:
            raise ValueError(
                f"run {run_id}, epoch {epoch}: steps {known} to {first - 1} are missing"
            )
        if row is None:
            session.add(
                StepLosses(
                    run_id=run_id,
                    epoch=epoch,
                    attempt=attempt,
                    g_losses=g_losses,
                    d_losses=d_losses,
                )
            )
        else:
            row.attempt = attempt
            row.g_losses = _overlaid(row.g_losses, first, g_losses)
            row.d_losses = _overlaid(row.d_losses, first, d_losses)
        if series:
            _append_series(session, run_id, attempt, epoch, first, series)


def finish_epoch(
    engine: Engine,
    *,
    run_id: str,
    attempt: int,
    epoch: int,
    steps: int,
    images: int,
    g_loss: float,
    d_loss: float,
    seconds: float,
    compile_seconds: float,
    g_path: tuple[float, float],
    d_path: tuple[float, float],
    measures: Mapping[str, float] | None = None,
) -> None:
    """One finished epoch. A restated epoch whose losses differ from the stored ones is noted as an
    event.

    Of the `measures` only the finite ones are kept: JSON has no others, and one that could not be
    measured says nothing.
    """
    with writing(engine) as session:
        fence(
            session,
            run_id,
            attempt,
            epoch=epoch,
            step=epoch * steps,
            g_loss=g_loss,
            d_loss=d_loss,
            failures=0,
        )
        old = session.get(Epoch, (run_id, epoch))
        if old is not None and (old.g_loss.hex(), old.d_loss.hex()) != (g_loss.hex(), d_loss.hex()):
            note(
                session,
                run_id,
                attempt,
                "warning",
                f"Epoch {epoch} was trained again with different losses.",
            )
        session.merge(
            Epoch(
                run_id=run_id,
                epoch=epoch,
                attempt=attempt,
                steps=steps,
                images=images,
                g_loss=g_loss,
                d_loss=d_loss,
                seconds=seconds,
                compile_seconds=compile_seconds,
                g_x=g_path[0],
                g_y=g_path[1],
                d_x=d_path[0],
                d_y=d_path[1],
                measures={
                    name: float(value)
                    for name, value in (measures or {}).items()
                    if math.isfinite(value)
                },
            )
        )
        session.flush()
        total = session.scalar(select(func.sum(Epoch.seconds)).where(col(Epoch.run_id) == run_id))
        timed = session.execute(
            select(Epoch.images, Epoch.seconds).where(col(Epoch.run_id) == run_id)
        )
        rate = runtime_estimation.images_per_second((row.images, row.seconds) for row in timed)
        fence(session, run_id, attempt, seconds=float(total or 0), images_per_second=rate)


def add_quality(
    engine: Engine,
    *,
    run_id: str,
    attempt: int,
    epoch: int,
    seconds: float,
    training_seconds: float,
    measures: Mapping[str, float],
    histogram: Sequence[float],
    preparation_seconds: float = 0.0,
) -> None:
    """How good generated images were after an epoch; an earlier evaluation of it is replaced."""
    evaluated = Quality(
        run_id=run_id,
        epoch=epoch,
        attempt=attempt,
        seconds=seconds,
        training_seconds=training_seconds,
        preparation_seconds=preparation_seconds,
        histogram=np.array(histogram, dtype=np.float32),
        metrics=metric_rows(run_id, epoch, measures),
    )
    with writing(engine) as session:
        fence(session, run_id, attempt)
        if (former := session.get(Quality, (run_id, epoch))) is not None:
            session.delete(former)
            session.flush()
        session.add(evaluated)


def add_facts(engine: Engine, *, run_id: str, attempt: int, values: Mapping[str, Any]) -> None:
    """Things that hold for the whole run, JSON-ready; a later value replaces an earlier one of the
    same name."""
    with writing(engine) as session:
        fence(session, run_id, attempt)
        run = locked(session, run_id)
        run.facts = {**run.facts, **values}


def add_grid(
    engine: Engine, *, run_id: str, attempt: int, epoch: int, rows: int, columns: int, png: bytes
) -> None:
    with writing(engine) as session:
        fence(session, run_id, attempt)
        session.merge(
            Grid(run_id=run_id, epoch=epoch, attempt=attempt, rows=rows, columns=columns, png=png)
        )


def add_event(engine: Engine, *, run_id: str, attempt: int, level: str, text: str) -> None:
    with writing(engine) as session:
        fence(session, run_id, attempt)
        note(session, run_id, attempt, level, text)


def add_sample(engine: Engine, sample: SystemSample) -> None:
    with writing(engine) as session:
        fence(session, sample.run_id, sample.attempt)
        session.merge(sample)


def _append_series(
    session: Session,
    run_id: str,
    attempt: int,
    epoch: int,
    first: int,
    series: Mapping[str, npt.NDArray[np.float32]],
) -> None:
    stored = session.exec(
        select(StepSeries).where(StepSeries.run_id == run_id, StepSeries.epoch == epoch)
    )
    rows = {row.name: row for row in stored}
    for name, values in series.items():
        row = rows.get(name) or StepSeries(
            run_id=run_id, epoch=epoch, name=name, attempt=attempt, values=np.zeros(0, np.float32)
        )
        missing = np.full(max(0, first - len(row.values)), np.nan, np.float32)
        row.attempt, row.values = (
            attempt,
            _overlaid(np.concatenate([row.values, missing]), first, values),
        )
        session.add(row)


def _overlaid(
    old: npt.NDArray[np.float32], first: int, new: npt.NDArray[np.float32]
) -> npt.NDArray[np.float32]:
    return np.concatenate([old[:first], new, old[first + len(new) :]])
