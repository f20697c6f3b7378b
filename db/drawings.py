"""Requests to stored generators: a page asks, a painter (worker/requests/inference_worker.py)
answers into the same row. Reads and writes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sqlalchemy import CursorResult, Engine, delete, func, update
from sqlmodel import col, exists, or_, select

from ganboard.db import clock
from ganboard.db.clock import now
from ganboard.db.engine import reading, writing
from ganboard.db.errors import NotAllowed, UnknownRun
from ganboard.db.models import Checkpoint, Drawing, Run

ABANDONED_SECONDS = 30.0  # a claim that is older had a painter that died over it
MAX_TRIES = 2
MAX_WAITING = 100
KEPT_SECONDS = 3600.0

_UNANSWERED = col(Drawing.answered_at).is_(None)


@dataclass(frozen=True)
class Asked:
    """A request and how many seconds it has waited, or took to be answered, by the database's
    clock."""

    drawing: Drawing
    seconds: float

    @property
    def answered(self) -> bool:
        return self.drawing.answered_at is not None


def ask(
    engine: Engine,
    *,
    run_id: str,
    step: int,
    kind: str,
    options: dict[str, Any],
    instead_of: str | None = None,
) -> str:
    """Store a request and return its id; the caller rings afterwards. `instead_of` is withdrawn
    unless somebody works on it.

    Raises UnknownRun, and NotAllowed when too many wait already.
    """
    with writing(engine) as session:
        session.execute(
            delete(Drawing).where(
                col(Drawing.id) == instead_of, _UNANSWERED, col(Drawing.begun_at).is_(None)
            )
        )
        if session.get(Run, run_id) is None:
            raise UnknownRun(f"There is no run {run_id[:80]!r}: it was deleted.")
        if (
            session.scalar(select(func.count()).select_from(Drawing).where(_UNANSWERED)) or 0
        ) >= MAX_WAITING:
            raise NotAllowed(f"{MAX_WAITING} drawings are waiting already: try again in a moment.")
        asked = Drawing(run_id=run_id, step=step, kind=kind, options=options, asked_at=now())  # type: ignore[arg-type]
        session.add(asked)
        return asked.id


def claim(engine: Engine) -> Drawing | None:
    """Take the request that has waited longest, or one whose painter died: one compare-and-set, so
    only one painter gets it.

    `facts["tries"]` counts the claims, this one included. None if nothing waits, or another painter
    was quicker.
    """
    abandoned = col(Drawing.begun_at) < now(-ABANDONED_SECONDS)
    waits = (
        select(Drawing)
        .where(_UNANSWERED, or_(col(Drawing.begun_at).is_(None), abandoned))
        .order_by(col(Drawing.asked_at))
        .limit(1)
    )
    with reading(engine) as session:  # on SQLite a write would lock the database for every look
        found = session.exec(waits).first()
    if found is None:
        return None
    values = {"begun_at": now(), "facts": {"tries": found.facts.get("tries", 0) + 1}}
    with writing(engine) as session:
        begun = session.execute(
            update(Drawing).where(*_as_seen(found)).values(values).returning(col(Drawing.begun_at))
        ).scalar_one_or_none()
    if begun is None:
        return None
    found.begun_at, found.facts = begun, values["facts"]  # type: ignore[assignment]
    return found


def say(engine: Engine, drawing: Drawing, phase: str) -> None:
    """Store what a claimed request waits for; nothing happens if it is no longer ours."""
    drawing.facts = {**drawing.facts, "phase": phase}
    _write(engine, drawing, facts=drawing.facts)


def answer(
    engine: Engine,
    drawing: Drawing,
    *,
    png: bytes | None = None,
    facts: dict[str, Any] | None = None,
    error: str | None = None,
) -> bool:
    """End a claimed request with a picture or a sentence. False if it was withdrawn, its run
    deleted, or another painter took it over."""
    return _write(engine, drawing, png=png, facts=facts or {}, error=error, answered_at=now())


def release(engine: Engine, drawing: Drawing) -> None:
    """Give a claimed request back, as if it had never been tried."""
    _write(engine, drawing, begun_at=None, facts={})


def prune(engine: Engine) -> None:
    """Forget requests of more than an hour ago."""
    with writing(engine) as session:
        session.execute(delete(Drawing).where(col(Drawing.asked_at) < now(-KEPT_SECONDS)))


def find(engine: Engine, drawing_id: str) -> Asked | None:
    with reading(engine) as session:
        drawing = session.get(Drawing, drawing_id)
        if drawing is None:
            return None
        return Asked(
            drawing,
            ((drawing.answered_at or clock.read(session)) - drawing.asked_at).total_seconds(),
        )


def drawable_runs(engine: Engine, *, limit: int) -> list[Run]:
    """The newest runs that have a checkpoint and are not archived."""
    stored = exists().where(col(Checkpoint.run_id) == col(Run.id))
    with reading(engine) as session:
        chosen = (
            select(Run)
            .where(stored, col(Run.archived_at).is_(None))
            .order_by(col(Run.created_at).desc(), col(Run.id))
            .limit(limit)
        )
        return list(session.exec(chosen))


def _as_seen(drawing: Drawing) -> tuple[Any, ...]:
    """Conditions under which nobody has changed the row since it was read."""
    return (
        col(Drawing.id) == drawing.id,
        _UNANSWERED,
        (
            col(Drawing.begun_at).is_(None)
            if drawing.begun_at is None
            else col(Drawing.begun_at) == drawing.begun_at
        ),
    )


def _write(engine: Engine, drawing: Drawing, **values: Any) -> bool:
    with writing(engine) as session:
        result = session.execute(update(Drawing).where(*_as_seen(drawing)).values(values))
        assert isinstance(result, CursorResult)
        return bool(result.rowcount)
