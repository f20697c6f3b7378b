"""The queue: which runs wait, in the order in which workers take them, and what moves one forward.

Higher priorities come first; among equals the runs of people of whom fewer train now; then those
that have waited longest.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import Engine, func
from sqlmodel import col, select

from ganboard.db import clock
from ganboard.db.engine import reading, writing
from ganboard.db.errors import NotAllowed
from ganboard.db.fence import locked, note
from ganboard.db.models import ACTIVE, ENDED, WAITING, WORKERS, Run

PRIORITIES = (-100, 100)  # the lowest and the highest


def waiting_runs(
    engine: Engine,
    *,
    for_seconds: float = 0.0,
    limit: int | None = None,
    offset: int = 0,
    placement: str = WORKERS,
) -> list[Run]:
    """Runs of this placement that may start now and that have waited at least so long, the next
    first."""
    ripe = _in_order(select(Run)).where(
        col(Run.queued_at) <= clock.now(-for_seconds), col(Run.placement) == placement
    )
    with reading(engine) as session:
        return list(session.exec(ripe.limit(limit).offset(offset)))


def queue_position(engine: Engine, run: Run) -> int:
    """How many waiting runs come before this one."""
    with reading(engine) as session:
        ids = list(session.exec(_in_order(select(Run.id))))
    return ids.index(run.id) if run.id in ids else 0


def set_priority(engine: Engine, *, run_id: str, priority: int) -> None:
    """Move a run in the queue, also one that trains and may wait again. Raises UnknownRun, and
    NotAllowed if it has ended or the number is out of range."""
    low, high = PRIORITIES
    if not low <= priority <= high:
        raise NotAllowed(
            f"Priority {priority} is not allowed: choose a number from {low} to {high} (usual: 0)."
        )
    with writing(engine) as session:
        run = locked(session, run_id)
        if run.status in ENDED:
            raise NotAllowed(f"Run {run_id} is {run.status} and does not wait.")
        if run.priority != priority:
            run.priority = priority
            note(session, run_id, run.attempt, "info", f"Priority set to {priority}.")


def _in_order(statement: Any) -> Any:
    training = (
        select(col(Run.owner).label("owner"), func.count().label("runs"))
        .where(col(Run.status).in_(ACTIVE))
        .group_by(col(Run.owner))
        .subquery()
    )
    return (
        statement.outerjoin(training, training.c.owner == Run.owner)
        .where(col(Run.status).in_(WAITING))
        .order_by(
            col(Run.priority).desc(),
            func.coalesce(training.c.runs, 0),
            col(Run.queued_at),
            col(Run.created_at),
        )
    )
