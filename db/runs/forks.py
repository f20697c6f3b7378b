"""Runs that begin as another one was at a checkpoint: its rows until then, copied."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Engine, insert, literal
from sqlmodel import Session, col, func, select

from ganboard.db.clock import now
from ganboard.db.engine import reading, writing
from ganboard.db.fence import locked, next_number, note
from ganboard.db.models import (
    WORKERS,
    Checkpoint,
    Epoch,
    Grid,
    Metric,
    Quality,
    Run,
    StepLosses,
    StepSeries,
)
from ganboard.db.runs.imports import IMPORTED

FORKED = "forked_from"  # among a run's facts: the run and the step, in words
# in the order in which rows refer to each other
_TABLES: tuple[Any, ...] = (Epoch, StepLosses, StepSeries, Quality, Metric, Grid)
_DROPPED = {IMPORTED, "start_from", "measured_memory_bytes", "estimated_memory_bytes"}


def fork(
    engine: Engine,
    *,
    parent_id: str,
    run_id: str,
    name: str,
    config: dict[str, Any],
    checkpoint: dict[str, Any],
    machine: str | None,
    owner: str = "",
) -> Run:
    """Queue the run `run_id`, which has the epochs of `parent_id` until the `checkpoint` (step,
    attempt, epoch, digest, size) that lies on `machine`. Raises UnknownRun."""
    step, epoch = checkpoint["step"], checkpoint["epoch"]
    with writing(engine) as session:
        parent = locked(session, parent_id)
        run = Run(
            id=run_id,
            name=name,
            config=config,
            preset=parent.preset,
            parent_id=parent.id,
            owner=owner,
            placement=config.get("placement", WORKERS),
            number=next_number(session),
            examples=parent.examples,
            steps_per_epoch=parent.steps_per_epoch,
            g_parameters=parent.g_parameters,
            d_parameters=parent.d_parameters,
            epoch=epoch,
            step=step,
            facts={
                **{name: value for name, value in parent.facts.items() if name not in _DROPPED},
                FORKED: f"step {step:,} of run {parent.id}",
            },
        )
        run.queued_at = now()  # type: ignore[assignment]
        session.add(run)
        session.flush()
        for table in _TABLES:
            _copy(session, table, parent.id, run.id, epoch)
        session.add(Checkpoint(run_id=run.id, machine=machine, **checkpoint))
        _latest_metrics(session, run)
        note(session, run.id, 0, "info", f"Forked from run {parent.id} at step {step:,}.")
        session.flush()
        session.refresh(run)
    return run


def _copy(session: Session, table: Any, parent_id: str, run_id: str, epoch: int) -> None:
    replaced = {"run_id": literal(run_id), "attempt": literal(0)}
    columns = table.__table__.columns
    chosen: list[Any] = [replaced.get(column.name, column) for column in columns]
    rows = select(*chosen).where(table.run_id == parent_id, table.epoch <= epoch)
    session.execute(insert(table).from_select([column.name for column in columns], rows))


def _latest_metrics(session: Session, run: Run) -> None:
    """The metrics of the copied epochs that lists show."""
    totals = select(func.sum(Epoch.seconds)).where(Epoch.run_id == run.id)
    run.seconds = float(session.scalar(totals) or 0.0)
    last = session.get(Epoch, (run.id, run.epoch))
    if last is not None:
        run.g_loss, run.d_loss = last.g_loss, last.d_loss


def branches(engine: Engine, run: Run) -> list[Run]:
    """The runs that share a beginning with this one: the run that it was forked from, forks of
    either, and itself; oldest first."""
    root = run.parent_id if FORKED in run.facts and run.parent_id else run.id
    with reading(engine) as session:
        family = session.exec(
            select(Run)
            .where((col(Run.id).in_([root, run.id])) | col(Run.parent_id).in_([root, run.id]))
            .order_by(col(Run.created_at), col(Run.id))
        ).all()
    return [one for one in family if one.id in (root, run.id) or FORKED in one.facts]
