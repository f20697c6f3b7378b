"""Submitting, steering and owning runs. What a trainer reports is written by `reports`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypedDict, Unpack

from sqlalchemy import Engine, and_, case, func, or_, update
from sqlmodel import Session, col, select

from ganboard.db.clock import now
from ganboard.db.engine import writing
from ganboard.db.errors import NotAllowed
from ganboard.db.fence import FINISHED, fence, locked, next_number, note
from ganboard.db.models import ACTIVE, ENDED, WAITING, WORKERS, Run
from ganboard.db.placement import groups
from ganboard.db.placement.groups import Place
from ganboard.db.runs import holders
from ganboard.db.runs.imports import IMPORTED

LEASE_SECONDS = 15.0
# Until training begins there is none to take over, and on a busy machine neither the work-horse nor
# the trainer may get any processor time for many seconds.
START_LEASE_SECONDS = 60.0
MAX_FAILURES = 5  # deaths in a row without a finished epoch between them

# --- submitting and steering ---


class Options(TypedDict, total=False):
    """What runs that are created together share."""

    preset: str
    parent_id: str | None
    sweep: str | None
    owner: str
    priority: int


def create_run(
    engine: Engine, *, name: str, config: dict[str, Any], **options: Unpack[Options]
) -> Run:
    """A new run, queued. The caller enqueues it afterwards."""
    return create_runs(engine, [(name, config)], **options)[0]


def create_runs(
    engine: Engine, runs: Sequence[tuple[str, dict[str, Any]]], **options: Unpack[Options]
) -> list[Run]:
    """New runs with these names and configurations, queued in this order: all of them or, should
    anything fail, none."""
    with writing(engine) as session:
        return add_runs(session, runs, **options)


def add_runs(
    session: Session, runs: Sequence[tuple[str, dict[str, Any]]], **options: Unpack[Options]
) -> list[Run]:
    """As `create_runs`, within the caller's transaction."""
    parent_id = options.get("parent_id")
    common: dict[str, Any] = {"queued_at": now(), **options}
    made = [
        Run(name=name, config=config, placement=config.get("placement", WORKERS), **common)
        for name, config in runs
    ]
    for number, run in enumerate(made, next_number(session)):
        run.number = number
        session.add(run)
    session.flush()
    for run in made:
        session.refresh(run)
        note(session, run.id, 0, "info", f"Cloned from {parent_id}." if parent_id else "Submitted.")
    return made


def request_stop(engine: Engine, *, run_id: str, said: str = "Stop requested.") -> str:
    """Stop a run: at once when it waits, at its next step when it trains; `said` is the event.
    Returns the status; raises NotAllowed if it has ended."""
    with writing(engine) as session:
        run = locked(session, run_id)
        if run.status in ENDED:
            raise NotAllowed(f"Run {run_id} is already {run.status}.")
        if not stop_within(session, run, said):
            return run.status
        session.flush()
        session.refresh(run)
        return run.status


def stop_within(session: Session, run: Run, said: str) -> bool:
    """Request the stop of a locked run that has not ended, within the caller's transaction; False
    if it was requested before."""
    if run.status in WAITING:
        run.status, run.ended_at, run.phase = "stopped", now(), None  # type: ignore[assignment]
    elif run.stop_requested_at is None:
        run.stop_requested_at = now()  # type: ignore[assignment]
    else:
        return False
    note(session, run.id, run.attempt, "info", said)
    return True


def resume(engine: Engine, *, run_id: str, without: str | None = None) -> Run:
    """Queue an ended run again; it resumes from its latest checkpoint. Raises NotAllowed unless it
    was stopped or failed.

    Checkpoints on the machine `without` are given up: they are no longer listed.
    """
    with writing(engine) as session:
        run = locked(session, run_id)
        if run.status not in ("stopped", "failed"):
            remedy = (
                "clone it to train it again"
                if run.status == "finished"
                else "it resumes automatically"
            )
            raise NotAllowed(
                f"Run {run_id} is {run.status}. Only stopped and failed runs can be resumed;"
                f" {remedy}."
            )
        if run.external:
            raise NotAllowed(external_refusal(run_id))
        if IMPORTED in run.facts:
            raise NotAllowed(
                f"Run {run_id} was imported and its checkpoints are on another machine. Clone it"
                " to train it here."
            )
        if without is not None:
            holders.unlist(session, run, without)
        run.status, run.queued_at = "queued", now()  # type: ignore[assignment]
        run.stop_requested_at = run.lease_until = run.ended_at = run.error = run.phase = (
            run.archived_at
        ) = run.pruned_at = None
        run.failures = 0
        note(session, run_id, run.attempt, "info", "Resume requested.")
        session.flush()
        session.refresh(run)
    return run


def external_refusal(run_id: str) -> str:
    """Why ganboard can neither resume nor clone a run of a script."""
    return (
        f"Run {run_id} was started by a script, which ganboard cannot start. Run the script again;"
        " it will make a new run."
    )


def delete_run(engine: Engine, *, run_id: str) -> None:
    """Remove a run and all its rows, also out of the trash; raises NotAllowed while it trains.
    `db.runs.trash` has what can be undone."""
    with writing(engine) as session:
        run = locked(session, run_id, trash_too=True)
        if run.status in ACTIVE:
            raise NotAllowed(f"Run {run_id} is {run.status}. Stop it before deleting it.")
        session.delete(run)


# --- ownership ---


@dataclass(frozen=True)
class Claim:
    """The right to write to a run, as long as it is renewed."""

    run_id: str
    attempt: int
    config: dict[str, Any]


def claim(
    engine: Engine,
    *,
    run_id: str,
    worker: str,
    lease_seconds: float = START_LEASE_SECONDS,
    after: int | None = None,
    group: Sequence[Place] = (),
) -> Claim | None:
    """Take a waiting run, or one whose lease has run out: one compare-and-set on the database's
    clock. None if another has it, or if the worker trains something else.

    With `group`, whose first is the worker itself, all of these workers together or none.

    Taking over counts as a failure of the attempt before; the takeover that would exceed
    MAX_FAILURES is left to `expire_leases`. With `after` only if that is its latest attempt, so
    that what the caller has read of its checkpoints still holds.
    """
    abandoned = and_(
        col(Run.status).in_(ACTIVE),
        col(Run.lease_until) < now(),
        col(Run.failures) + 1 < MAX_FAILURES,
    )
    free = and_(col(Run.external).is_(False), or_(col(Run.status).in_(WAITING), abandoned))
    expected = [] if after is None else [col(Run.attempt) == after]
    with writing(engine) as session:
        if not groups.lock_free(session, worker, {place.worker for place in group[1:]}):
            return None
        claimed = session.execute(
            update(Run)
            .where(col(Run.id) == run_id, free, col(Run.stop_requested_at).is_(None), *expected)
            .values(
                status="starting",
                attempt=Run.attempt + 1,
                failures=case((col(Run.status).in_(ACTIVE), Run.failures + 1), else_=Run.failures),
                worker=worker,
                lease_until=now(lease_seconds),
                started_at=func.coalesce(Run.started_at, now()),
                ended_at=None,
                error=None,
                phase="starting",
                phase_since=now(),
                phase_progress=None,
                progress_at=now(),
            )
            .returning(col(Run.attempt), col(Run.config))
        ).one_or_none()
        if claimed is None:
            return None
        attempt, config = claimed
        groups.assemble(session, run_id, attempt, group)
        others = f", leading {', '.join(one.worker for one in group[1:])}" if group else ""
        note(session, run_id, attempt, "info", f"Attempt {attempt} started on {worker}{others}.")
    return Claim(run_id, attempt, config)


def renew(
    engine: Engine, *, run_id: str, attempt: int, lease_seconds: float = LEASE_SECONDS
) -> bool:
    """Lengthen the lease; True when a stop was requested. Raises LeaseLost."""
    with writing(engine) as session:
        fence(session, run_id, attempt, lease_until=now(lease_seconds))
        return (
            session.scalar(select(col(Run.stop_requested_at)).where(col(Run.id) == run_id))
            is not None
        )


def finish(
    engine: Engine,
    *,
    run_id: str,
    attempt: int,
    status: str,
    error: str | None = None,
    because: str = "",
) -> str:
    """End an attempt: finished, failed, stopped, or suspended (resumes automatically; `because`
    says why if not because its worker shuts down). Raises LeaseLost.

    Returns the status stored: a run that is suspended after a stop was requested is stopped, since
    it must not be claimed again.
    """
    text = {
        "finished": FINISHED,
        "stopped": "Stopped.",
        "suspended": f"Suspended: {because or 'the worker is shutting down'}.",
        "failed": error or "",
    }
    with writing(engine) as session:
        waits = {"queued_at": now()} if status == "suspended" else {}
        fence(
            session,
            run_id,
            attempt,
            error=error,
            lease_until=None,
            worker=None,
            phase=None,
            **waits,
        )
        run = locked(session, run_id)
        run.status = (
            "stopped" if status == "suspended" and run.stop_requested_at is not None else status
        )
        if run.status in ENDED:
            run.ended_at = now()  # type: ignore[assignment]
        note(session, run_id, attempt, "error" if status == "failed" else "info", text[run.status])
        return run.status
