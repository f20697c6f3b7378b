"""Which checkpoints of a run there are, as its trainer reports them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import ColumnElement, Engine, or_
from sqlmodel import col, select

from ganboard.db.engine import writing
from ganboard.db.fence import fence, note
from ganboard.db.models import Checkpoint


def add_checkpoint(
    engine: Engine,
    *,
    run_id: str,
    attempt: int,
    step: int,
    epoch: int,
    digest: str,
    size: int,
    keep: int,
    machine: str | None = None,
) -> None:
    """A checkpoint on the disk of `machine`; only the `keep` newest there stay listed, as they do
    on disk."""
    with writing(engine) as session:
        fence(session, run_id, attempt)
        saved: dict[str, Any] = {
            "step": step,
            "attempt": attempt,
            "epoch": epoch,
            "digest": digest,
            "size": size,
        }
        session.merge(Checkpoint(run_id=run_id, machine=machine, **saved))
        session.flush()
        newest_first = (col(Checkpoint.step).desc(), col(Checkpoint.attempt).desc())
        here = select(Checkpoint).where(Checkpoint.run_id == run_id, _on(machine))
        for old in session.exec(here.order_by(*newest_first).offset(keep)):
            session.delete(old)


def list_checkpoints(
    engine: Engine,
    *,
    run_id: str,
    attempt: int,
    found: Sequence[Mapping[str, Any]],
    machine: str | None = None,
) -> None:
    """List exactly those that were `found` on the disk of `machine`, each with step, attempt (its
    own), epoch, digest and size.

    What was listed there before and is lost, or cannot be used, is noted. What other machines have
    stays listed.
    """
    with writing(engine) as session:
        fence(session, run_id, attempt)
        there = {(one["step"], one["attempt"]): one for one in found}
        for listed in session.exec(select(Checkpoint).where(Checkpoint.run_id == run_id)):
            one = there.pop((listed.step, listed.attempt), None)
            if one is not None and one["digest"] == listed.digest:
                listed.machine = machine
        session.flush()
        session.add_all(Checkpoint(run_id=run_id, machine=machine, **one) for one in there.values())
        kept = {(one["step"], one["attempt"]) for one in found}
        own = session.exec(
            select(Checkpoint)
            .where(Checkpoint.run_id == run_id, _on(machine))
            .order_by(col(Checkpoint.step))
        ).all()
        lost = [one for one in own if (one.step, one.attempt) not in kept]
        for gone in lost:
            session.delete(gone)
        if lost:
            where = "here" if machine is None else f"on machine {machine}"
            what = "checkpoint of step" if len(lost) == 1 else "checkpoints of steps"
            steps = ", ".join(str(gone.step) for gone in lost)
            note(
                session,
                run_id,
                attempt,
                "warning",
                f"Lost {where} and no longer listed: the {what} {steps}.",
            )


def _on(machine: str | None) -> ColumnElement[bool]:
    """Checkpoints of `machine`, and those without a recorded machine."""
    return or_(col(Checkpoint.machine).is_(None), col(Checkpoint.machine) == machine)
