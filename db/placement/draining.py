"""Machines that start no further runs. Reads and writes."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import Engine, delete
from sqlmodel import col, select

from ganboard.db.clock import now
from ganboard.db.engine import reading, writing
from ganboard.db.models import Draining


def drain(engine: Engine, machine: str) -> None:
    """Let the workers of a machine start no further run; they finish what they train. A repetition
    is harmless."""
    with writing(engine) as session:
        if session.get(Draining, machine) is None:
            session.add(Draining(machine=machine, since=now()))  # type: ignore[arg-type]


def undrain(engine: Engine, machine: str) -> bool:
    """Let them start runs again; whether they did not."""
    with writing(engine) as session:
        return bool(
            session.execute(
                delete(Draining)
                .where(col(Draining.machine) == machine)
                .returning(col(Draining.machine))
            ).all()
        )


def machines(engine: Engine) -> dict[str, datetime]:
    """The machines that are drained, and since when."""
    with reading(engine) as session:
        return {row.machine: row.since for row in session.exec(select(Draining))}
