"""Rehearsals: what compiling a step for devices that are not here found, by the settings that shape
it. Runs with equal settings share one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sqlalchemy import Engine
from sqlmodel import col, select

from ganboard.db.clock import now
from ganboard.db.engine import reading, writing
from ganboard.db.models import Rehearsal


def store(engine: Engine, key: str, target: str, report: Mapping[str, Any]) -> None:
    """Keep a report in place of the former one."""
    with writing(engine) as session:
        stored = session.get(Rehearsal, (key, target)) or Rehearsal(
            key=key, target=target, report={}
        )
        stored.report = dict(report)
        stored.stored_at = now()  # type: ignore[assignment]
        session.add(stored)


def of(engine: Engine, key: str) -> list[dict[str, Any]]:
    """The reports of one key, by name of target."""
    found = select(Rehearsal).where(col(Rehearsal.key) == key).order_by(col(Rehearsal.target))
    with reading(engine) as session:
        return [rehearsal.report for rehearsal in session.exec(found)]
