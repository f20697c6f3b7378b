"""Connections between machines that broke, so that no group relies on them for a while. Reads and
writes."""

from __future__ import annotations

from collections.abc import Collection

from sqlalchemy import Engine, delete
from sqlmodel import col, select

from ganboard.db.clock import now
from ganboard.db.engine import reading, writing
from ganboard.db.models import BrokenLink

AVOID_SECONDS = 120.0  # for which two machines then train nothing together

Link = frozenset[str]  # the addresses at both ends


def broke(engine: Engine, source: str, target: str) -> None:
    """The machine at one address did not reach the one at the other."""
    with writing(engine) as session:
        pair = (col(BrokenLink.source) == source) & (col(BrokenLink.target) == target)
        session.execute(delete(BrokenLink).where(pair | (col(BrokenLink.until) < now())))
        session.add(BrokenLink(source=source, target=target, until=now(AVOID_SECONDS)))  # type: ignore[arg-type]


def broken(engine: Engine) -> Collection[Link]:
    """The connections that groups avoid now."""
    ends = select(BrokenLink.source, BrokenLink.target).where(col(BrokenLink.until) > now())
    with reading(engine) as session:
        return {frozenset(pair) for pair in session.exec(ends)}
