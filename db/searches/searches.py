"""Searches over settings: which there are, and all writes of them. Their runs live on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sqlalchemy import Engine, func, update
from sqlmodel import Session, col, select

from ganboard.db import ids
from ganboard.db.clock import now
from ganboard.db.engine import reading, writing
from ganboard.db.errors import NotAllowed, UnknownSearch
from ganboard.db.models import Search

RUNNING = "running"
STOPPED = "stopped"  # by a person
FINISHED = "finished"  # the budget is used, or all combinations are tried
FAILED = "failed"  # none of many combinations in a row could run
STATES = (RUNNING, STOPPED, FINISHED, FAILED)


def add(engine: Engine, search: Search) -> Search:
    """Store a new search. Its driver submits the first runs."""
    search.created_at = now()  # type: ignore[assignment]
    with writing(engine) as session:
        session.add(search)
        session.flush()
        session.refresh(search)
    return search


def get(engine: Engine, search_id: str) -> Search | None:
    with reading(engine) as session:
        return session.get(Search, search_id)


def find(engine: Engine, text: str) -> Search:
    """The search with this id, or the only one whose id begins with `text`; `latest` is the newest.
    Raises UnknownSearch."""
    with reading(engine) as session:
        return ids.find(
            session,
            Search,
            text,
            what="search",
            lists="ganboard search list",
            unknown=UnknownSearch,
        )


def listed(engine: Engine, *, limit: int | None = None) -> list[Search]:
    """All searches, the newest first."""
    newest = select(Search).order_by(col(Search.created_at).desc(), col(Search.id)).limit(limit)
    with reading(engine) as session:
        return list(session.exec(newest))


def running(engine: Engine) -> list[Search]:
    """Those that a driver must look after, the oldest first."""
    active = select(Search).where(Search.state == RUNNING)
    with reading(engine) as session:
        return list(session.exec(active.order_by(col(Search.created_at), col(Search.id))))


def any_running(engine: Engine) -> bool:
    with reading(engine) as session:
        return bool(session.scalar(select(func.count()).where(Search.state == RUNNING)))


def end(engine: Engine, search_id: str, state: str, message: str) -> bool:
    """End a running search; False if it was ended, or stopped, before."""
    ended = (
        update(Search)
        .where(col(Search.id) == search_id, col(Search.state) == RUNNING)
        .values(state=state, message=message, ended_at=now())
        .returning(col(Search.id))
    )
    with writing(engine) as session:
        return session.execute(ended).first() is not None


def remark(engine: Engine, search_id: str, message: str | None) -> None:
    """Store what keeps a running search from submitting runs, None if nothing does any more."""
    with writing(engine) as session:
        found = session.get(Search, search_id, with_for_update=True)
        if found is not None and found.state == RUNNING:
            found.message = message


def rate(engine: Engine, search_id: str, importance: Mapping[str, Any]) -> None:
    """Store how much each setting matters."""
    with writing(engine) as session:
        rated = update(Search).where(col(Search.id) == search_id)
        session.execute(rated.values(importance=dict(importance)))


def stop(engine: Engine, search_id: str) -> None:
    """Submit no further runs. Raises NotAllowed if it does not run."""
    if not end(engine, search_id, STOPPED, "Stopped on request."):
        found = get(engine, search_id)
        state = found.state if found else "gone"
        raise NotAllowed(f"Search {search_id} is already {state}.")


def remove(engine: Engine, search_id: str) -> None:
    """Forget a search and its trials; its runs stay. Raises UnknownSearch, and NotAllowed while it
    runs."""
    with writing(engine) as session:
        found = _locked(session, search_id)
        if found.state == RUNNING:
            raise NotAllowed(f"Search {search_id} is running. Stop it before deleting it.")
        session.delete(found)


def resume(engine: Engine, search_id: str, budget: Mapping[str, Any]) -> Search:
    """Let a search go on, with the values of `budget` (runs, hours, parallel) in place of its own.
    Raises UnknownSearch."""
    with writing(engine) as session:
        found = _locked(session, search_id)
        for name, value in budget.items():
            setattr(found, name, value)
        found.state, found.message, found.ended_at = RUNNING, None, None
        session.flush()
        session.refresh(found)
    return found


def _locked(session: Session, search_id: str) -> Search:
    found = session.get(Search, search_id, with_for_update=True)
    if found is None:
        raise UnknownSearch(f"There is no search {search_id[:80]!r}.")
    return found
