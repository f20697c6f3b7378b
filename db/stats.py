"""Statistics over all runs for monitoring, in two statements that read no values per step however
much is stored; and what takes space."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Engine, case, func, text
from sqlmodel import col, select

from ganboard.db import clock
from ganboard.db.engine import TRASH_TOO, clear_errors, reading
from ganboard.db.heartbeats import WORKER_ALIVE_SECONDS
from ganboard.db.models import (
    INFERENCE,
    STATUSES,
    TRAINING,
    WAITING,
    Checkpoint,
    Epoch,
    Event,
    Grid,
    Run,
    StepSeries,
    Worker,
)

LEVELS = ("info", "warning", "error")
_SIZE = {
    "sqlite": "(SELECT page_count * page_size FROM pragma_page_count(), pragma_page_size())",
    "postgresql": "pg_database_size(current_database())",
}


@dataclass(frozen=True)
class Stats:
    """What the database held at one moment; ages are in seconds by its own clock."""

    runs: dict[str, int]  # by status, each of them
    waiting_seconds: float  # of the run that waits longest, 0 when none does
    epochs: int
    images: int
    attempts: int
    failures: int  # deaths without an epoch since, of all runs together
    events: dict[str, int]  # by level
    checkpoint_bytes: int
    database_bytes: int
    workers: int  # alive
    inference_workers: int
    # of the workers of both kinds that were known within the last hour, 0 when there is none
    oldest_heartbeat_seconds: float


def take(engine: Engine) -> Stats:
    """Raises Unreachable."""
    images: Any = Run.step * col(Run.config)["batch_size"].as_integer()
    columns: tuple[Any, ...] = (
        col(Run.status),
        # what was done counts also of runs in the trash, so that no counter falls
        func.count(case((col(Run.deleted_at).is_(None), 1))),
        func.sum(Run.epoch),
        # a script's configuration may have anything there
        func.sum(case((col(Run.external).is_(False), images))),
        func.sum(Run.attempt),
        func.sum(Run.failures),
        func.min(Run.queued_at),
    )
    levels: Any = (
        func.sum(case((col(Event.level) == level, 1), else_=0)).label(level) for level in LEVELS
    )
    counted = select(*levels).subquery()
    alive = (
        select(func.count())
        .select_from(Worker)
        .where(col(Worker.heartbeat_at) > clock.now(-WORKER_ALIVE_SECONDS))
    )
    metrics: tuple[Any, ...] = (
        clock.now(),
        select(func.sum(Checkpoint.size)).scalar_subquery(),
        text(_SIZE[engine.dialect.name]),
        alive.where(col(Worker.kind) == TRAINING).scalar_subquery(),
        alive.where(col(Worker.kind) == INFERENCE).scalar_subquery(),
        select(func.min(Worker.heartbeat_at)).scalar_subquery(),
        *(func.coalesce(counted.c[level], 0) for level in LEVELS),
    )
    with clear_errors(engine), reading(engine) as session:
        grouped = select(*columns).group_by(col(Run.status))
        by_status = session.execute(grouped, execution_options=TRASH_TOO).all()
        row = session.execute(select(*metrics)).one()
        present, checkpoint_bytes, size, workers, inference_workers, heartbeat, *events = row
    waits = [row[6] for row in by_status if row[0] in WAITING]

    def total(place: int) -> int:
        return sum(int(row[place] or 0) for row in by_status)

    return Stats(
        runs=dict.fromkeys(STATUSES, 0) | {row[0]: row[1] for row in by_status},
        waiting_seconds=_age(present, min(waits, default=None)),
        epochs=total(2),
        images=total(3),
        attempts=total(4),
        failures=total(5),
        events=dict(zip(LEVELS, events, strict=True)),
        checkpoint_bytes=int(checkpoint_bytes or 0),
        database_bytes=int(size),
        workers=workers,
        inference_workers=inference_workers,
        oldest_heartbeat_seconds=_age(present, heartbeat),
    )


def statistics(engine: Engine) -> dict[str, int]:
    """Rows of the tables run, epoch, grid and checkpoint, and the `bytes` of the whole database."""
    with reading(engine) as session:
        size = (
            "SELECT page_count * page_size FROM pragma_page_count(), pragma_page_size()"
            if engine.dialect.name == "sqlite"
            else "SELECT pg_database_size(current_database())"
        )
        counts = {
            table.__tablename__: session.scalar(select(func.count()).select_from(table)) or 0
            for table in (Run, Epoch, Grid, Checkpoint)
        }
        return {**counts, "bytes": int(session.connection().exec_driver_sql(size).scalar_one())}


def stored_bytes(engine: Engine) -> dict[str, int]:
    """Bytes of what takes most room, also in the trash: `series` (losses and other values of every
    step), `grids`, and `checkpoints`, which are files.

    `series` follows from the number of steps and from how many values their run reports, since a
    sum over all rows takes seconds.
    """
    others = (
        select(func.count())
        .where(StepSeries.run_id == Run.id, StepSeries.epoch == 1)
        .correlate(Run)
        .scalar_subquery()
    )
    metrics: dict[str, Any] = {
        "series": func.sum(Run.step * 4 * (2 + others)),
        "grids": func.sum(func.length(Grid.png)),
        "checkpoints": func.sum(Checkpoint.size),
    }
    with reading(engine) as session:
        return {
            name: int(session.scalar(select(figure), execution_options=TRASH_TOO) or 0)
            for name, figure in metrics.items()
        }


def largest_runs(engine: Engine, *, limit: int) -> list[tuple[Run, int]]:
    """The runs whose checkpoints take most room, with their bytes, the largest first."""
    size: Any = func.sum(Checkpoint.size)
    found = (
        select(Run, size).join(Checkpoint, col(Checkpoint.run_id) == Run.id).group_by(col(Run.id))
    )
    with reading(engine) as session:
        return [
            (run, int(claimed))
            for run, claimed in session.execute(
                found.order_by(size.desc(), col(Run.id)).limit(limit)
            )
        ]


def _age(present: datetime, moment: datetime | None) -> float:
    return 0.0 if moment is None else max(0.0, (present - moment).total_seconds())
