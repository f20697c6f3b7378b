"""Jobs of other schedulers, such as SLURM, that start runs. Reads and writes."""

from __future__ import annotations

from typing import Any

from sqlalchemy import CursorResult, Engine, and_, insert, or_, update
from sqlmodel import col, select

from ganboard.db.clock import now
from ganboard.db.engine import reading, writing
from ganboard.db.fence import locked, note
from ganboard.db.models import ENDED, WAITING, Run, SchedulerJob

SUBMITTING_SECONDS = 60.0  # after which a submission without an id has died
MAX_FAILURES = 3  # jobs in a row that end before an attempt began


def of_run(engine: Engine, run_id: str) -> SchedulerJob | None:
    """The latest job of a run."""
    with reading(engine) as session:
        return session.get(SchedulerJob, run_id)


def open_jobs(engine: Engine, scheduler: str) -> list[tuple[SchedulerJob, Run]]:
    """The jobs that have not ended, with their runs."""
    found = (
        select(SchedulerJob, Run)
        .join(Run, col(Run.id) == col(SchedulerJob.run_id))
        .where(SchedulerJob.scheduler == scheduler, col(SchedulerJob.ended).is_(False))
    )
    with reading(engine) as session:
        return [(job, run) for job, run in session.exec(found)]


def any_wanted(engine: Engine, scheduler: str) -> bool:
    """Whether a run has, or waits for, a job of this scheduler."""
    wanted = select(Run.id).where(Run.placement == scheduler, col(Run.status).not_in(ENDED))
    with reading(engine) as session:
        return session.exec(wanted.limit(1)).first() is not None


def reserve(engine: Engine, run: Run, scheduler: str) -> bool:
    """Whether the caller is to submit a job for a waiting run: one of several that ask."""
    values = {
        "scheduler": scheduler,
        "job_id": "",
        "state": "",
        "reason": "",
        "ended": False,
        "attempt": run.attempt,
        "submitted_at": now(),
    }
    died = and_(
        col(SchedulerJob.job_id) == "", col(SchedulerJob.submitted_at) < now(-SUBMITTING_SECONDS)
    )
    with writing(engine) as session:
        stored = locked(session, run.id)
        if stored.status not in WAITING or stored.attempt != run.attempt:
            return False
        if session.get(SchedulerJob, run.id) is None:
            session.execute(insert(SchedulerJob).values(run_id=run.id, failures=0, **values))
            return True
        result = session.execute(
            update(SchedulerJob)
            .where(col(SchedulerJob.run_id) == run.id, or_(col(SchedulerJob.ended).is_(True), died))
            .values(**values)
        )
        assert isinstance(result, CursorResult)
        return bool(result.rowcount)


def submitted(engine: Engine, run: Run, job_id: str, words: str) -> None:
    """Store the id of the job of a run, and say so in an event."""
    with writing(engine) as session:
        _set(session, run.id, job_id=job_id)
        note(session, run.id, run.attempt, "info", f"Submitted as {words}.")


def see(engine: Engine, job: SchedulerJob, state: str, reason: str) -> None:
    """Store what the scheduler says of a job."""
    if (job.state, job.reason) != (state, reason):
        with writing(engine) as session:
            _set(session, job.run_id, state=state, reason=reason)


def end(engine: Engine, job: SchedulerJob, state: str, reason: str, words: str) -> None:
    """A job has ended; its run is submitted again if it waits, unless MAX_FAILURES jobs have ended
    before an attempt began. `words` name the job and say how it ended."""
    with writing(engine) as session:
        run = locked(session, job.run_id, trash_too=True)
        vain = run.status in WAITING and run.attempt == job.attempt
        failures = job.failures + 1 if vain else 0
        values = {"state": state, "reason": reason, "failures": failures}
        _set(session, job.run_id, ended=True, **values)
        if failures >= MAX_FAILURES:
            _fail(
                session,
                run,
                f"{words}; {failures} jobs in a row ended before training began. See the"
                " scheduler's log in the run's folder, then resume.",
            )
        elif run.status in WAITING:
            note(session, run.id, run.attempt, "warning", f"{words}. A new job is submitted.")


def refuse(engine: Engine, run: Run, reason: str) -> None:
    """The scheduler does not take the job: the run fails."""
    with writing(engine) as session:
        _set(session, run.id, state="REFUSED", reason=reason, ended=True)
        _fail(session, locked(session, run.id), reason)


def postpone(engine: Engine, run: Run, reason: str) -> None:
    """The scheduler does not answer: the job is submitted later."""
    with writing(engine) as session:
        _set(session, run.id, state="", reason=reason, ended=True)


def _set(session: Any, run_id: str, **values: Any) -> None:
    session.execute(update(SchedulerJob).where(col(SchedulerJob.run_id) == run_id).values(**values))


def _fail(session: Any, run: Run, error: str) -> None:
    if run.status in WAITING:
        run.status, run.error, run.ended_at = "failed", error, now()  # type: ignore[assignment]
        run.phase = None
        note(session, run.id, run.attempt, "error", error)
