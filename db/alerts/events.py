"""What has happened to runs, as alerts ask for it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Engine, func
from sqlmodel import col, select

from ganboard.db.clock import now
from ganboard.db.engine import reading
from ganboard.db.models import ACTIVE, Event, Run


@dataclass(frozen=True, slots=True)
class Happened:
    """An event of a run."""

    id: int
    run_id: str
    text: str


def after(engine: Engine, event_id: int, *, limit: int) -> list[Happened]:
    """The events with higher numbers, in their order."""
    statement = (
        select(col(Event.id), Event.run_id, Event.text)
        .where(col(Event.id) > event_id)
        .order_by(col(Event.id))
    )
    with reading(engine) as session:
        return [Happened(*row) for row in session.execute(statement.limit(limit))]


def stalled(engine: Engine, *, minutes: int) -> dict[str, datetime]:
    """The runs that should train and have made no progress for so long, by the database's clock,
    and when they made it last."""
    latest = func.coalesce(Run.progress_at, Run.phase_since, Run.started_at)
    statement = select(Run.id, latest).where(
        col(Run.status).in_(ACTIVE), latest < now(-60.0 * minutes)
    )
    with reading(engine) as session:
        return dict(session.execute(statement).all())
