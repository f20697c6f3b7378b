"""Evaluations of stored checkpoints, which training did not do: what there is to evaluate, and the
results, which stand beside those of training. Reads and writes."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sqlalchemy import Engine, and_, func
from sqlmodel import col, select

from ganboard.db.engine import reading, writing
from ganboard.db.errors import NotAllowed
from ganboard.db.fence import locked, note
from ganboard.db.models import Checkpoint, Epoch, Metric, Quality, Run, metric_rows


def pending(engine: Engine, run_ids: Sequence[str]) -> dict[str, list[int]]:
    """The epochs that can be evaluated from listed checkpoints, ascending, for each of these runs
    that has some: those later than its last evaluation. A checkpoint of an epoch that has not ended
    counts as none."""
    last = select(func.max(Quality.epoch)).where(Quality.run_id == Run.id).scalar_subquery()
    ended = (
        select(Checkpoint.run_id, Checkpoint.epoch)
        .distinct()
        .join(Run, col(Run.id) == Checkpoint.run_id)
        .where(
            col(Checkpoint.run_id).in_(run_ids),
            Checkpoint.step == Checkpoint.epoch * Run.steps_per_epoch,  # type: ignore[operator]
            Checkpoint.epoch > func.coalesce(last, 0),
        )
        .order_by(col(Checkpoint.epoch))
    )
    found: dict[str, list[int]] = {}
    with reading(engine) as session:
        for run_id, epoch in session.execute(ended):
            found.setdefault(run_id, []).append(epoch)
    return found


def last_epochs(engine: Engine, run_ids: Sequence[str] | None = None) -> dict[str, int]:
    """The epoch of the last evaluation of each run, of these or of all, that has one."""
    newest = select(Quality.run_id, func.max(Quality.epoch)).group_by(col(Quality.run_id))
    if run_ids is not None:
        newest = newest.where(col(Quality.run_id).in_(run_ids))
    with reading(engine) as session:
        return dict(session.execute(newest).all())


def add(
    engine: Engine,
    *,
    run_id: str,
    attempt: int,
    epoch: int,
    seconds: float,
    preparation_seconds: float,
    training_seconds: float,
    measures: Mapping[str, float],
    histogram: Sequence[float],
    facts: Mapping[str, Any],
) -> bool:
    """Store an evaluation of a checkpoint that `attempt` or one before it has saved, its facts and
    an event; False, and nothing is written, where the epoch has been evaluated already.

    The facts are those of the last evaluation: with a later one there, they only fill gaps. Raises
    UnknownRun, and NotAllowed when another attempt has begun meanwhile.
    """
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
        run = locked(session, run_id)
        if run.attempt != attempt:
            raise NotAllowed(f"Run {run_id} was resumed while it was evaluated. Evaluate it again.")
        if session.get(Quality, (run_id, epoch)) is not None:
            return False
        newest = session.scalar(select(func.max(Quality.epoch)).where(Quality.run_id == run_id))
        is_last = newest is None or newest < epoch
        run.facts = {**run.facts, **facts} if is_last else {**facts, **run.facts}
        if (ended := session.get(Epoch, (run_id, epoch))) is not None:
            evaluated.made_at = ended.finished_at  # when training would have; the event has now
        session.add(evaluated)
        note(
            session,
            run_id,
            attempt,
            "info",
            f"Evaluated on request, from the checkpoint of epoch {epoch}.",
        )
    return True


@dataclass(frozen=True)
class AtCheckpoint:
    """A metric of an epoch whose checkpoint is stored."""

    run_id: str
    step: int
    epoch: int
    name: str
    value: float


def at_checkpoints(engine: Engine, run_ids: Sequence[str]) -> list[AtCheckpoint]:
    """The finite metrics of these runs after the epochs whose checkpoints are stored."""
    where: list[Any] = [Checkpoint.run_id, Checkpoint.step, Checkpoint.epoch]
    what: list[Any] = [Metric.name, Metric.value]
    found = (
        select(*where, *what)
        .join(Run, col(Run.id) == Checkpoint.run_id)
        .join(
            Metric,
            and_(col(Metric.run_id) == Checkpoint.run_id, col(Metric.epoch) == Checkpoint.epoch),
        )
        .where(
            col(Checkpoint.run_id).in_(run_ids),
            Checkpoint.step == Checkpoint.epoch * Run.steps_per_epoch,  # type: ignore[operator]
        )
    )
    with reading(engine) as session:
        rows = [AtCheckpoint(*row) for row in session.execute(found)]
    return [row for row in rows if math.isfinite(row.value)]


def best(
    engine: Engine, run_ids: Sequence[str], metric: str, *, lower: bool = True
) -> dict[str, float]:
    """The lowest (or highest) finite value of a metric in all evaluations of each of these runs
    that has one."""
    finite = Metric.value < math.inf  # NaN is above all numbers, in SQLite as a text
    extreme = func.min if lower else func.max
    found = select(Metric.run_id, extreme(Metric.value)).group_by(col(Metric.run_id))
    chosen = (col(Metric.run_id).in_(run_ids), Metric.name == metric, finite)
    with reading(engine) as session:
        return dict(session.execute(found.where(*chosen)).all())
