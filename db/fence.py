"""What every write to a run goes through: the fence of its attempt, the lock on its row, and the
note of what happened."""

from __future__ import annotations

from typing import Any

from sqlalchemy import CursorResult, update
from sqlmodel import Session, col, select

from ganboard.db.errors import LeaseLost, UnknownRun
from ganboard.db.models import ACTIVE, Event, Run

FINISHED = "Finished."  # the note that a run has done all its epochs


def fence(session: Session, run_id: str, attempt: int, **values: Any) -> None:
    """Write `values` to the run's row if `attempt` still owns it, else raise LeaseLost.

    It also locks the row until the transaction ends, so all that follows in it is written by one
    attempt only.
    """
    statement = update(Run).where(
        col(Run.id) == run_id, col(Run.attempt) == attempt, col(Run.status).in_(ACTIVE)
    )
    result = session.execute(statement.values(**(values or {"attempt": attempt})))
    assert isinstance(result, CursorResult)
    if not result.rowcount:
        raise LeaseLost(f"Attempt {attempt} no longer owns run {run_id}.")


def locked(session: Session, run_id: str) -> Run:
    """The run's row as it is now, locked until the transaction ends. Raises UnknownRun."""
    run = session.exec(
        select(Run)
        .where(Run.id == run_id)
        .with_for_update()
        .execution_options(populate_existing=True)
    ).one_or_none()
    if run is None:
        raise UnknownRun(f"There is no run {run_id[:80]!r}: `ganboard runs` lists them.")
    return run


def note(session: Session, run_id: str, attempt: int, level: str, text: str) -> None:
    """Add an event in the same transaction."""
    session.add(Event(run_id=run_id, attempt=attempt, level=level, text=text))
