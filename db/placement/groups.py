"""Worker groups: the machines that train one attempt of a run together. Reads and writes.

A group is claimed all or nothing. Every claim, of a group and of a single run, first locks the rows
of its workers, so that no worker is taken twice.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import CursorResult, Engine, delete, exists, or_, update
from sqlmodel import Session, col, select

from ganboard.db.clock import now
from ganboard.db.engine import reading, writing
from ganboard.db.errors import LeaseLost
from ganboard.db.models import ACTIVE, Member, Run, Worker

LEASE_SECONDS = 15.0


@dataclass(frozen=True)
class Place:
    """A worker that may take part in an attempt, and where the others reach it."""

    worker: str
    machine: str
    host: str
    address: str


def lock_free(session: Session, claims: str, others: Collection[str]) -> bool:
    """Whether the worker that claims is in no group, and the others neither are nor train a run; it
    stays so until the transaction ends."""
    workers = {claims, *others}
    # in one order, so that two groups cannot wait for each other
    ordered = select(Worker.name).where(col(Worker.name).in_(workers)).order_by(col(Worker.name))
    session.execute(ordered.with_for_update())
    members = _open(select(Member.run_id)).where(col(Member.worker).in_(workers))
    busy = select(Run.id).where(col(Run.status).in_(ACTIVE), col(Run.worker).in_(others))
    return session.scalar(members.limit(1)) is None and not (
        others and session.scalar(busy.limit(1))
    )


def assemble(session: Session, run_id: str, attempt: int, places: Sequence[Place]) -> None:
    """Make these the group of an attempt that was claimed in the same transaction, the first of
    them its leader."""
    workers = [place.worker for place in places]
    former = or_(col(Member.run_id) == run_id, col(Member.worker).in_(workers))
    session.execute(delete(Member).where(former))
    for index, place in enumerate(places):
        session.add(
            Member(
                run_id=run_id,
                index=index,
                attempt=attempt,
                **vars(place),
                lease_until=now(LEASE_SECONDS),  # type: ignore[arg-type]
            )
        )


def engaged(engine: Engine) -> set[str]:
    """The workers that train a run or are members of a group."""
    with reading(engine) as session:
        training = session.scalars(select(Run.worker).where(col(Run.status).in_(ACTIVE)))
        members = session.scalars(_open(select(Member.worker)))
        return {name for name in (*training, *members) if name}


def of_worker(engine: Engine, worker: str) -> Member | None:
    """The part that this worker has in a group now, if any."""
    with reading(engine) as session:
        return session.scalars(_open(select(Member)).where(Member.worker == worker)).first()


def members(engine: Engine, run_id: str) -> list[Member]:
    """The group that trains a run now, the leader first; none of a run on one machine."""
    with reading(engine) as session:
        found = _current(select(Member)).where(Member.run_id == run_id)
        return list(session.scalars(found.order_by(col(Member.index))))


def lost(engine: Engine, run_id: str) -> list[Member]:
    """The members of the group of a run whose lease has run out though their part is not over."""
    with reading(engine) as session:
        found = _open(select(Member)).where(Member.run_id == run_id)
        return list(session.scalars(found.where(col(Member.lease_until) < now())))


def report(engine: Engine, member: Member, **values: Any) -> None:
    """Renew the lease of a member and store what it reports. Raises LeaseLost when its attempt is
    over."""
    active = exists().where(
        col(Run.id) == member.run_id,
        col(Run.attempt) == member.attempt,
        col(Run.status).in_(ACTIVE),
    )
    own = (
        update(Member)
        .where(
            col(Member.run_id) == member.run_id,
            col(Member.index) == member.index,
            col(Member.attempt) == member.attempt,
            active,
        )
        .values(lease_until=now(LEASE_SECONDS), **values)
    )
    with writing(engine) as session:
        result = session.execute(own)
        assert isinstance(result, CursorResult)
        if not result.rowcount:
            raise LeaseLost(f"Attempt {member.attempt} of run {member.run_id} is over.")


def _current(statement: Any) -> Any:
    """Of attempts that are active alone."""
    return statement.join(Run, col(Run.id) == col(Member.run_id)).where(
        col(Run.attempt) == col(Member.attempt), col(Run.status).in_(ACTIVE)
    )


def _open(statement: Any) -> Any:
    """Of those the members whose part is not over."""
    return _current(statement).where(col(Member.ended).is_(False))
