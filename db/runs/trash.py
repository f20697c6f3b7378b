"""Deleted runs: for a week they are in the trash with all that they have, then they are removed.

A run in the trash has ended. SELECTs of runs leave it out (`db.engine`), except where they ask for
`TRASH_TOO`.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import ColumnElement, Engine, func
from sqlmodel import col, select

from ganboard.db.clock import now
from ganboard.db.engine import TRASH_TOO, reading, writing
from ganboard.db.errors import NotAllowed
from ganboard.db.fence import locked, note
from ganboard.db.models import ACTIVE, WAITING, Checkpoint, Grid, Run

KEPT_SECONDS = 7 * 24 * 3600.0


@dataclass(frozen=True)
class Trashed:
    """A run in the trash, as lists show it."""

    id: str
    name: str
    status: str
    number: int
    epoch: int  # finished epochs
    deleted_at: datetime
    size: int  # bytes of its listed checkpoints

    @property
    def removed_at(self) -> datetime:
        """When it will be removed."""
        return removed_at(self.deleted_at)


@dataclass(frozen=True)
class Held:
    """What the trash holds."""

    runs: int
    grids: int  # bytes
    checkpoints: int  # bytes


def removed_at(deleted_at: datetime) -> datetime:
    """When a run that was deleted then will be removed, by the database's clock."""
    return deleted_at + timedelta(seconds=KEPT_SECONDS)


def move(engine: Engine, *, run_id: str) -> Run:
    """Move a run to the trash; one that waits is stopped. Raises NotAllowed while it trains,
    UnknownRun."""
    with writing(engine) as session:
        run = locked(session, run_id)
        if run.status in ACTIVE:
            raise NotAllowed(f"Run {run_id} is {run.status}. Stop it before deleting it.")
        if run.status in WAITING:
            run.status, run.ended_at, run.phase = "stopped", now(), None  # type: ignore[assignment]
        run.deleted_at = now()  # type: ignore[assignment]
        note(session, run_id, run.attempt, "info", "Moved to the trash.")
        session.flush()
        session.refresh(run)
        return run


def restore(engine: Engine, *, run_id: str) -> Run:
    """Take a run out of the trash. Raises NotAllowed if it is not there, UnknownRun."""
    with writing(engine) as session:
        run = locked(session, run_id, trash_too=True)
        if run.deleted_at is None:
            raise NotAllowed(f"Run {run_id} is not in the trash.")
        run.deleted_at = None
        note(session, run_id, run.attempt, "info", "Restored from the trash.")
        session.flush()
        session.refresh(run)
        return run


def listed(engine: Engine) -> list[Trashed]:
    """The runs in the trash, the last deleted first."""
    size = (
        select(func.coalesce(func.sum(Checkpoint.size), 0))
        .where(col(Checkpoint.run_id) == col(Run.id))
        .correlate(Run)
        .scalar_subquery()
    )
    columns: tuple[Any, ...] = (
        *(Run.id, Run.name, Run.status, Run.number, Run.epoch, Run.deleted_at),
        size,
    )
    found = select(*columns).where(_IN_TRASH).order_by(col(Run.deleted_at).desc(), col(Run.id))
    with reading(engine) as session:
        return [Trashed(*row) for row in session.execute(found, execution_options=TRASH_TOO)]


def count(engine: Engine) -> int:
    """How many runs are in the trash."""
    with reading(engine) as session:
        found = select(func.count()).select_from(Run).where(_IN_TRASH)
        return session.scalar(found, execution_options=TRASH_TOO) or 0


def held(engine: Engine) -> Held:
    """How many runs the trash holds, and the bytes of what takes most room of them."""
    trashed = select(Run.id).where(_IN_TRASH)
    grids = select(func.sum(func.length(Grid.png))).where(col(Grid.run_id).in_(trashed))
    checkpoints = select(func.sum(Checkpoint.size)).where(col(Checkpoint.run_id).in_(trashed))
    with reading(engine) as session:

        def total(statement: Any) -> int:
            return int(session.scalar(statement, execution_options=TRASH_TOO) or 0)

        runs = total(select(func.count()).select_from(Run).where(_IN_TRASH))
        return Held(runs, total(grids), total(checkpoints))


def expired(engine: Engine) -> list[str]:
    """The ids of the runs whose time in the trash is over."""
    over = select(Run.id).where(_IN_TRASH, col(Run.deleted_at) <= now(-KEPT_SECONDS))
    with reading(engine) as session:
        return list(session.exec(over, execution_options=TRASH_TOO))


_IN_TRASH: ColumnElement[bool] = col(Run.deleted_at).is_not(None)
