"""Runs that come from another machine, with all their rows at once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from sqlalchemy import Engine
from sqlmodel import SQLModel

from ganboard.db.engine import TRASH_TOO, writing
from ganboard.db.errors import NotAllowed
from ganboard.db.fence import in_trash, next_number, note
from ganboard.db.models import Run, Tag

IMPORTED = "imported_at"  # among a run's facts: its checkpoints lie elsewhere


def insert(
    engine: Engine, run: Run, rows: Iterable[SQLModel], tags: Sequence[str], text: str
) -> Run:
    """Store an ended run and its rows in one transaction, with an event that says `text`. Raises
    NotAllowed when its id is taken."""
    with writing(engine) as session:
        if present := session.get(Run, run.id, execution_options=TRASH_TOO):
            if present.deleted_at is not None:
                raise NotAllowed(in_trash(run.id))
            raise NotAllowed(
                f"Run {run.id} already exists. To import it again, run `ganboard delete"
                f" --permanently {run.id}` first."
            )
        run.number = next_number(session)
        session.add(run)
        session.flush()
        session.add_all(rows)
        session.add_all(Tag(run_id=run.id, tag=tag) for tag in dict.fromkeys(tags))
        session.flush()
        note(session, run.id, run.attempt, "info", text)
        session.refresh(run)
    return run
