"""What every write to a run goes through: the fence of its attempt, the lock on its row, and the
note of what happened."""

from __future__ import annotations

from typing import Any

from sqlalchemy import CursorResult, update
from sqlmodel import Session, col, func, select

from ganboard.db.engine import TRASH_TOO
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


def locked(session: Session, run_id: str, *, trash_too: bool = False) -> Run:
    """The run's row as it is now, locked until the transaction ends. Raises UnknownRun, also for a
    run in the trash unless it is to be found `trash_too`."""
    run = session.exec(
        select(Run).where(Run.id == run_id).with_for_update(),
        execution_options={"populate_existing": True, **TRASH_TOO},
    ).one_or_none()
    if run is None:
        raise UnknownRun(f"There is no run {run_id[:80]!r}: `ganboard runs` lists them.")
    if run.deleted_at is not None and not trash_too:
        raise UnknownRun(in_trash(run_id))
    return run


def in_trash(run_id: str) -> str:
    """What to say of a run that cannot be used since it is in the trash."""
    return f"Run {run_id} is in the trash. Restore it first: `ganboard undelete {run_id}`."


def note(session: Session, run_id: str, attempt: int, level: str, text: str) -> None:
    """Add an event in the same transaction."""
    session.add(Event(run_id=run_id, attempt=attempt, level=level, text=text))


def next_number(session: Session) -> int:
    """The number, and so the colour, of a new run; those in the trash keep theirs. Runs that are
    created in the same moment by others may share it."""
    newest = session.scalar(select(func.max(Run.number)), execution_options=TRASH_TOO)
    return (newest or 0) + 1
