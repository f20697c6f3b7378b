"""Which machine has the files of a run's checkpoints, and the waiting for it. Reads and writes.

The name of a machine is `worker.process.machine.name`. None means that it was not recorded: by an
older version, or by a restore.
"""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import ColumnElement, Engine, delete, tuple_, update
from sqlmodel import Session, col, select

from ganboard.db import clock
from ganboard.db.clock import now
from ganboard.db.engine import reading, writing
from ganboard.db.errors import NotAllowed
from ganboard.db.fence import note
from ganboard.db.heartbeats import workers
from ganboard.db.models import WAITING, Checkpoint, Run

AWAITING = "awaiting its machine"  # the phase of a waiting run
UNKNOWN = "unknown"  # an unknown machine, in words


def newest_of_waiting(engine: Engine) -> dict[str, Checkpoint]:
    """The newest listed checkpoint of every waiting run that has one, by run."""
    found = (
        select(Checkpoint)
        .join(Run, col(Run.id) == Checkpoint.run_id)
        .where(col(Run.status).in_(WAITING))
    )
    with reading(engine) as session:
        ascending = session.exec(found.order_by(col(Checkpoint.step), col(Checkpoint.attempt)))
        return {checkpoint.run_id: checkpoint for checkpoint in ascending}


def newest(engine: Engine, run_id: str) -> Checkpoint | None:
    """The newest listed checkpoint of a run."""
    found = select(Checkpoint).where(Checkpoint.run_id == run_id)
    with reading(engine) as session:
        return session.exec(
            found.order_by(col(Checkpoint.step).desc(), col(Checkpoint.attempt).desc()).limit(1)
        ).first()


def adopt(engine: Engine, checkpoint: Checkpoint, machine: str) -> None:
    """Record that `machine` has the files of this checkpoint, unless the row has changed since it
    was read."""
    same = (
        col(Checkpoint.run_id) == checkpoint.run_id,
        col(Checkpoint.step) == checkpoint.step,
        col(Checkpoint.attempt) == checkpoint.attempt,
        (
            col(Checkpoint.machine).is_(None)
            if checkpoint.machine is None
            else col(Checkpoint.machine) == checkpoint.machine
        ),
    )
    with writing(engine) as session:
        session.execute(update(Checkpoint).where(*same).values(machine=machine))


def wait(engine: Engine, checkpoint: Checkpoint, seconds: float) -> None:
    """Let a waiting run wait for the machine that has its newest checkpoint, at most for so long;
    noted once. A repetition is harmless."""
    with writing(engine) as session:
        waiting = (
            col(Run.id) == checkpoint.run_id,
            col(Run.status).in_(WAITING),
            col(Run.phase).is_(None),
        )
        begun = session.execute(
            update(Run)
            .where(*waiting)
            .values(phase=AWAITING, phase_since=now())
            .returning(col(Run.attempt))
        )
        if (attempt := begun.scalar_one_or_none()) is not None:
            text = (
                f"Waiting up to {seconds:.0f} s for {_machine(checkpoint)}, which has the"
                f" checkpoint of step {checkpoint.step}."
            )
            note(session, checkpoint.run_id, attempt, "warning", text)


def end_wait(engine: Engine, run_id: str) -> None:
    """The machine is back: the run waits as others do, and the time begins anew should it go
    again."""
    with writing(engine) as session:
        session.execute(update(Run).where(*_awaiting(run_id)).values(phase=None, phase_since=None))


def give_up(engine: Engine, checkpoint: Checkpoint, seconds: float) -> bool:
    """End a run as failed that has waited for so long; its checkpoints stay listed. Returns whether
    it was time."""
    machine = checkpoint.machine or UNKNOWN
    error = (
        f"The checkpoint of step {checkpoint.step} is on {_machine(checkpoint)}, which was"
        f" unavailable for {seconds:.0f} s. Start a worker there and resume, clone the run to"
        f" train it again, or give up its checkpoints: `ganboard resume {checkpoint.run_id}"
        f" --without {machine}`."
    )
    over = (*_awaiting(checkpoint.run_id), col(Run.phase_since) < now(-seconds))
    with writing(engine) as session:
        ended = {"status": "failed", "ended_at": now(), "error": error, "phase": None}
        row = session.execute(update(Run).where(*over).values(ended).returning(col(Run.attempt)))
        attempt = row.scalar_one_or_none()
        if attempt is not None:
            note(session, checkpoint.run_id, attempt, "error", error)
        return attempt is not None


def fall_back(
    engine: Engine, checkpoint: Checkpoint, stored: tuple[int, int], seconds: float
) -> bool:
    """Let a run that has waited for so long go on from its `stored` checkpoint (step, attempt),
    which is older: what was saved later, on machines that are away, is no longer listed. Returns
    whether it was time."""
    over = (*_awaiting(checkpoint.run_id), col(Run.phase_since) < now(-seconds))
    with writing(engine) as session:
        begun = session.execute(
            update(Run)
            .where(*over)
            .values(phase=None, phase_since=None)
            .returning(col(Run.attempt))
        )
        if (attempt := begun.scalar_one_or_none()) is None:
            return False
        later = tuple_(col(Checkpoint.step), col(Checkpoint.attempt)) > tuple_(*stored)
        session.execute(
            delete(Checkpoint).where(col(Checkpoint.run_id) == checkpoint.run_id, later)
        )
        machine = _machine(checkpoint)
        text = (
            f"{machine[:1].upper()}{machine[1:]} was unavailable for {seconds:.0f} s: going on"
            f" from the checkpoint of step {stored[0]} in the artifact store instead of step"
            f" {checkpoint.step}."
        )
        note(session, checkpoint.run_id, attempt, "warning", text)
    return True


def unlist(session: Session, run: Run, machine: str) -> None:
    """Forget a run's checkpoints on a machine (`UNKNOWN`: where none was recorded), as a person
    wants it. Raises NotAllowed."""
    listed = session.exec(
        select(Checkpoint).where(Checkpoint.run_id == run.id).order_by(col(Checkpoint.step))
    ).all()
    gone = [one for one in listed if (one.machine or UNKNOWN) == machine]
    if not gone:
        there = ", ".join(sorted({one.machine or UNKNOWN for one in listed})) or "no machine"
        raise NotAllowed(
            f"Run {run.id} has no checkpoint on machine {machine[:80]!r}; they are on {there}."
        )
    for one in gone:
        session.delete(one)
    left = [one.step for one in listed if one not in gone]
    then = f"Resuming from step {left[-1]}" if left else "Training starts from the beginning"
    steps = ", ".join(str(one.step) for one in gone)
    note(
        session,
        run.id,
        run.attempt,
        "warning",
        f"Gave up the checkpoints on machine {machine} (step {steps}) as requested. {then}.",
    )


@dataclass(frozen=True)
class Awaited:
    """What a run waits for, without a full stop, and for how long yet; None: as long as it
    takes."""

    reason: str
    seconds_left: float | None


def awaited(engine: Engine, run: Run, seconds: float) -> Awaited | None:
    """The machine that a waiting run waits for; None when any worker may take it. `seconds` as for
    `wait`."""
    if run.status not in WAITING or (checkpoint := newest(engine, run.id)) is None:
        return None
    what = f"which has the checkpoint of step {checkpoint.step}"
    if run.phase == AWAITING and run.phase_since is not None:
        with reading(engine) as session:
            waited = (clock.read(session) - run.phase_since).total_seconds()
        return Awaited(f"Waiting for {_machine(checkpoint)}, {what}", max(0.0, seconds - waited))
    alive = {state.worker.machine for state in workers(engine) if state.alive}
    if checkpoint.machine in alive and len(alive) > 1:
        return Awaited(f"Waiting for a free worker of {_machine(checkpoint)}, {what}", None)
    return None


def _awaiting(run_id: str) -> tuple[ColumnElement[bool], ...]:
    return col(Run.id) == run_id, col(Run.status).in_(WAITING), col(Run.phase) == AWAITING


def _machine(checkpoint: Checkpoint) -> str:
    return "an unknown machine" if checkpoint.machine is None else f"machine {checkpoint.machine}"
