"""Deleted runs: for a week they are in the trash with all that they have, then they are removed.

A run in the trash has ended. SELECTs of runs leave it out (`db.engine`), except where they ask for
`TRASH_TOO`.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import ColumnElement, Engine, and_, func
from sqlmodel import col, select

from ganboard.db.clock import now
from ganboard.db.engine import TRASH_TOO, reading, writing
from ganboard.db.errors import NotAllowed
from ganboard.db.fence import locked, note
from ganboard.db.models import ACTIVE, WAITING, Checkpoint, Grid, Run

KEPT_SECONDS = 7 * 24 * 3600.0


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
    with reading(engine) as session:
        return list(session.exec(select(Run.id).where(_over()), execution_options=TRASH_TOO))


def expire(engine: Engine, *, run_id: str, machine: str | None, alive: Collection[str]) -> bool:
    """Remove a run whose time in the trash is over; returns whether its files on `machine` may go.

    While other machines that are `alive` have checkpoints of it, only those of `machine` are
    unlisted: each machine deletes its own files, and the last one the run.
    """
    with writing(engine) as session:
        found = select(Run).where(Run.id == run_id, _over()).with_for_update()
        run = session.exec(found, execution_options=TRASH_TOO).one_or_none()
        if run is None:  # it was restored, or another worker was quicker
            return False
        listed = session.exec(select(Checkpoint).where(Checkpoint.run_id == run_id)).all()
        elsewhere = [one for one in listed if one.machine != machine and one.machine in alive]
        if not elsewhere:
            session.delete(run)
        for one in listed if elsewhere else ():
            if one not in elsewhere:
                session.delete(one)
        return True


def _over() -> ColumnElement[bool]:
    return and_(_IN_TRASH, col(Run.deleted_at) <= now(-KEPT_SECONDS))


_IN_TRASH: ColumnElement[bool] = col(Run.deleted_at).is_not(None)
