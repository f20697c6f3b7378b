"""Claims: which there are, their runs and evidence, and all writes of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import Engine
from sqlmodel import Session, col, or_, select

from ganboard.db import clock, ids
from ganboard.db.clock import now
from ganboard.db.engine import reading, writing
from ganboard.db.errors import NotAllowed, UnknownClaim
from ganboard.db.models import ClaimRun, Run, StatedClaim
from ganboard.db.runs.commands import add_runs

TREATMENT, CONTROL = "treatment", "control"
OPEN = "open"


def store(engine: Engine, claim: StatedClaim) -> StatedClaim:
    """A new claim, open."""
    with writing(engine) as session:
        claim.created_at = now()  # type: ignore[assignment]
        session.add(claim)
        session.flush()
        session.refresh(claim)
    return claim


def get(engine: Engine, claim_id: str) -> StatedClaim | None:
    with reading(engine) as session:
        return session.get(StatedClaim, claim_id)


def find(engine: Engine, text: str) -> StatedClaim:
    """The claim with this id, or the only one whose id begins with `text`; `latest` is the newest.
    Raises UnknownClaim."""
    with reading(engine) as session:
        return ids.find(
            session, StatedClaim, text, what="claim", lists="ganboard claims", unknown=UnknownClaim
        )


def listed(engine: Engine, *, only_open: bool = False) -> list[StatedClaim]:
    """All claims, the newest first."""
    wanted = select(StatedClaim).order_by(col(StatedClaim.created_at).desc(), col(StatedClaim.id))
    if only_open:
        wanted = wanted.where(StatedClaim.status == OPEN)
    with reading(engine) as session:
        return list(session.exec(wanted))


def any_open(engine: Engine) -> bool:
    """Whether a claim waits for its next run or verdict."""
    wanted = select(StatedClaim.id).where(StatedClaim.status == OPEN).limit(1)
    with reading(engine) as session:
        return session.exec(wanted).first() is not None


def runs(engine: Engine, claim_id: str) -> dict[tuple[int, str], tuple[str, Run | None]]:
    """By pair and arm: the id of the run, and the run; None if it was deleted or is in the
    trash."""
    wanted = select(ClaimRun).where(ClaimRun.claim_id == claim_id)
    with reading(engine) as session:
        rows = list(session.exec(wanted))
        ids = [row.run_id for row in rows]
        there = {run.id: run for run in session.exec(select(Run).where(col(Run.id).in_(ids)))}
    return {(row.pair, row.arm): (row.run_id, there.get(row.run_id)) for row in rows}


def beside(engine: Engine, run: Run) -> list[str]:
    """The ids of other runs that trained on the host of a finished run during a tenth of its time
    or more."""
    assert run.started_at is not None
    assert run.ended_at is not None
    least = 0.1 * (run.ended_at - run.started_at).total_seconds()
    overlapping = select(Run).where(
        col(Run.id) != run.id,
        col(Run.started_at) < run.ended_at,
        or_(col(Run.ended_at).is_(None), col(Run.ended_at) > run.started_at),
    )
    with reading(engine) as session:
        found = session.exec(overlapping.order_by(col(Run.started_at))).all()
    host = (run.hardware or {}).get("host")
    return [
        other.id
        for other in found
        if (other.hardware or {}).get("host") == host
        and _shared(run, other.started_at, other.ended_at) >= least
    ]


def _shared(run: Run, start: Any, end: Any) -> float:
    """Seconds of a run between two moments; an `end` of None is later than its own."""
    last = run.ended_at if end is None else min(run.ended_at, end)
    return float((last - max(run.started_at, start)).total_seconds())


def hours_since(engine: Engine, claim: StatedClaim) -> float:
    """Hours since the claim was stated, by the database's clock."""
    with reading(engine) as session:
        return float((clock.read(session) - claim.created_at).total_seconds()) / 3600


def add_run(
    engine: Engine, claim_id: str, *, pair: int, arm: str, name: str, config: dict[str, Any]
) -> Run | None:
    """Queue the run of an arm of a pair; None, and nothing is written, if it is there already or
    the claim has ended. The caller enqueues it."""
    with writing(engine) as session:
        claim = _locked(session, claim_id)
        if claim.status != OPEN or session.get(ClaimRun, (claim_id, pair, arm)) is not None:
            return None
        (run,) = add_runs(
            session,
            [(name, config)],
            preset=str(claim.given.get("preset", "")),
            sweep=claim_id,
            owner=claim.owner,
        )
        session.add(ClaimRun(claim_id=claim_id, pair=pair, arm=arm, run_id=run.id))
    return run


def add_evidence(
    engine: Engine, claim_id: str, pair: Mapping[str, Any], machine: Mapping[str, Any]
) -> bool:
    """Append an ended pair; False, and nothing is written, if it is not the next one. The machine
    of the first pair is kept."""
    with writing(engine) as session:
        claim = _locked(session, claim_id)
        if claim.status != OPEN or len(claim.evidence) != pair["pair"] - 1:
            return False
        claim.evidence = [*claim.evidence, dict(pair)]
        claim.machine = claim.machine or dict(machine)
    return True


def end(engine: Engine, claim_id: str, status: str, reasons: Sequence[str] = ()) -> None:
    """End an open claim. Raises NotAllowed if it has ended."""
    with writing(engine) as session:
        claim = _locked(session, claim_id)
        if claim.status != OPEN:
            raise NotAllowed(f"Claim {claim_id} has ended: it is {claim.status}.")
        claim.status = status
        claim.reasons = list(reasons)
        claim.ended_at = now()  # type: ignore[assignment]


def remove(engine: Engine, claim_id: str) -> None:
    """Forget a claim and its evidence; its runs stay. Raises UnknownClaim, and NotAllowed while it
    is open."""
    with writing(engine) as session:
        claim = _locked(session, claim_id)
        if claim.status == OPEN:
            raise NotAllowed(f"Claim {claim_id} is open. Stop it before deleting it.")
        session.delete(claim)


def _locked(session: Session, claim_id: str) -> StatedClaim:
    found = session.get(StatedClaim, claim_id, with_for_update=True)
    if found is None:
        raise UnknownClaim(f"There is no claim {claim_id[:80]!r}: `ganboard claims` lists them.")
    return found
