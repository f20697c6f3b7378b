"""Recent notifications over all runs: warnings, errors, and runs that have ended."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Engine, func
from sqlmodel import col, or_, select

from ganboard.db.engine import reading
from ganboard.db.fence import FINISHED
from ganboard.db.models import Event, Run

SEEN_AT = 5000  # newest events: bounds the search, however long the history


@dataclass(frozen=True, slots=True)
class Notice:
    """An event of a run, with the run's name and its state now."""

    id: int
    run_id: str
    name: str
    status: str
    at: datetime
    level: str
    text: str

    @property
    def finished(self) -> bool:
        return self.text == FINISHED


def newest_event(engine: Engine) -> int:
    """The number of the newest event of all: notices are the same as long as it is. 0 without
    events."""
    with reading(engine) as session:
        return session.scalar(select(func.max(Event.id))) or 0


def notices(engine: Engine, *, limit: int = 30) -> list[Notice]:
    """The newest notices among the newest events, newest first."""
    matters = or_(col(Event.level).in_(("warning", "error")), col(Event.text) == FINISHED)
    recent = col(Event.id) > select(func.max(Event.id)).scalar_subquery() - SEEN_AT
    columns = (Event.id, Event.run_id, Run.name, Run.status, Event.at, Event.level, Event.text)
    statement = select(*columns).join(Run, col(Run.id) == Event.run_id)  # type: ignore[call-overload]
    with reading(engine) as session:
        return [
            Notice(*row)
            for row in session.execute(
                statement.where(recent, matters).order_by(col(Event.id).desc()).limit(limit)
            )
        ]
