"""Attempts that ended without a word: their runs are queued again, or fail."""

from __future__ import annotations

from sqlalchemy import Engine
from sqlmodel import Session, col, select

from ganboard.db.clock import now
from ganboard.db.engine import reading, writing
from ganboard.db.fence import fence, locked, note
from ganboard.db.models import ACTIVE, Run
from ganboard.db.runs.commands import MAX_FAILURES


def died(
    engine: Engine, *, run_id: str, attempt: int, cause: str, limit: int = MAX_FAILURES
) -> str:
    """The attempt's process ended without a word: queue the run again, or fail it after `limit`
    deaths in a row. Returns the new status.

    A process that could still finish the row itself is fenced out from now on. Raises LeaseLost if
    the attempt had ended already.
    """
    with writing(engine) as session:
        fence(session, run_id, attempt, lease_until=None, worker=None, phase=None)
        return _bury(session, locked(session, run_id), cause, limit)


def expire_leases(engine: Engine) -> list[str]:
    """Queue again (or fail) every run whose lease has run out; returns their ids."""
    expired = select(Run).where(col(Run.status).in_(ACTIVE), col(Run.lease_until) < now())
    # every worker asks every few seconds, and nearly always in vain
    with reading(engine) as session:
        if session.exec(expired.limit(1)).first() is None:
            return []
    with writing(engine) as session:
        # a locked row has a writer: the run is active, or being ended
        dead = session.exec(expired.with_for_update(skip_locked=True)).all()
        for run in dead:
            _bury(session, run, f"The lease of attempt {run.attempt} expired without a heartbeat")
        return [run.id for run in dead]


def _bury(session: Session, run: Run, cause: str, limit: int = MAX_FAILURES) -> str:
    run.failures += 1
    run.worker = run.lease_until = run.phase = None
    if run.stop_requested_at is not None:
        run.status, run.ended_at = "stopped", now()  # type: ignore[assignment]
    elif run.external:
        run.status, run.ended_at = "failed", now()  # type: ignore[assignment]
        run.error = (
            "The script has stopped reporting: its process ended, or its connection is lost. If it"
            " reports again, the run continues."
        )
    elif run.failures >= limit:
        run.status, run.ended_at = "failed", now()  # type: ignore[assignment]
        run.error = (
            f"{cause}; {run.failures} times in a row without finishing an epoch. Check the log,"
            " then resume."
        )
    else:
        run.status, run.queued_at = "queued", now()  # type: ignore[assignment]
    outcome = {
        "queued": "Resuming from the latest checkpoint.",
        "failed": "The script no longer reports." if run.external else "Giving up.",
        "stopped": "Stopped as requested.",
    }[run.status]
    note(
        session,
        run.id,
        run.attempt,
        "error" if run.status == "failed" else "warning",
        f"{cause}. {outcome}",
    )
    return run.status
