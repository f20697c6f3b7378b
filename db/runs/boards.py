"""Reads and writes of boards: panels that somebody arranged, under a name."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Engine, delete, func
from sqlmodel import col, select

from ganboard.db.clock import now
from ganboard.db.engine import reading, writing
from ganboard.db.errors import BadAnnotation
from ganboard.db.models import SavedBoard
from ganboard.db.runs.annotations import check_text

NAME_LENGTH = 60
BOARDS = 100  # of one owner
EVERYBODY = ""  # the owner of what is saved while nobody signs in


def save(
    engine: Engine, *, owner: str, name: str, panels: list[dict[str, Any]], replace: bool = False
) -> str:
    """Keep panels under a name, which is returned as it is stored. Raises BadAnnotation, also if
    the owner has a board of this name and it is not to be replaced."""
    name = check_text(name, "name of the board", NAME_LENGTH)
    with writing(engine) as session:
        present = session.get(SavedBoard, (owner, name))
        if present is not None and not replace:
            raise BadAnnotation(
                f"A board named {name!r} already exists. Choose another name, or replace it."
            )
        if present is None:
            own = select(func.count()).select_from(SavedBoard).where(SavedBoard.owner == owner)
            if (session.scalar(own) or 0) >= BOARDS:
                raise BadAnnotation(
                    f"There are already {BOARDS} saved boards, which is the limit. Delete one"
                    " first."
                )
            present = SavedBoard(owner=owner, name=name, panels=panels)
        present.panels = panels
        present.saved_at = now()  # type: ignore[assignment]
        session.add(present)
    return name


def forget(engine: Engine, *, owner: str, name: str) -> None:
    """Delete a board; one that is gone already is no error."""
    own = (col(SavedBoard.owner) == owner, col(SavedBoard.name) == name)
    with writing(engine) as session:
        session.execute(delete(SavedBoard).where(*own))


def of_owner(engine: Engine, owner: str) -> list[SavedBoard]:
    """The boards of a person and of everybody, the last saved first."""
    theirs = select(SavedBoard).where(col(SavedBoard.owner).in_((owner, EVERYBODY)))
    with reading(engine) as session:
        return list(
            session.exec(theirs.order_by(col(SavedBoard.saved_at).desc(), col(SavedBoard.name)))
        )
