"""Runs in pages, newest first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Engine, literal
from sqlmodel import col, select

from ganboard.db.models import Run, Tag
from ganboard.db.paging import rows
from ganboard.db.paging.cursor import Position
from ganboard.db.types import Json


@dataclass(frozen=True)
class Filters:
    """Which runs are listed; what is empty or None filters nothing."""

    statuses: Sequence[str] = ()
    tags: Sequence[str] = ()  # all of them
    name: str = ""  # a part of it, without regard to case
    preset: str | None = None
    sweep: str | None = None
    owner: str | None = None
    created_from: datetime | None = None
    created_before: datetime | None = None
    archived: bool = False
    settings: dict[str, Any] = field(default_factory=dict)  # of the configuration, by name


def page(
    engine: Engine, filters: Filters, *, limit: int, after: Position | None = None
) -> rows.Page[Run]:
    """The next `limit` runs after a position, or the first."""
    conditions = _conditions(filters, engine.dialect.name)
    return rows.page(engine, Run, conditions, limit=limit, after=after)


def _conditions(filters: Filters, dialect: str) -> list[ColumnElement[bool]]:
    archived = col(Run.archived_at)
    found: list[ColumnElement[bool]] = [
        archived.is_not(None) if filters.archived else archived.is_(None),
        *(_is(name, value, dialect) for name, value in filters.settings.items()),
        *(col(Run.id).in_(select(Tag.run_id).where(Tag.tag == tag)) for tag in filters.tags),
    ]
    if filters.statuses:
        found.append(col(Run.status).in_(filters.statuses))
    if filters.name:
        found.append(col(Run.name).icontains(filters.name, autoescape=True))
    if filters.preset is not None:
        found.append(col(Run.preset) == filters.preset)
    if filters.sweep is not None:
        found.append(col(Run.sweep) == filters.sweep)
    if filters.owner is not None:
        found.append(col(Run.owner) == filters.owner)
    if filters.created_from is not None:
        found.append(col(Run.created_at) >= filters.created_from)
    if filters.created_before is not None:
        found.append(col(Run.created_at) < filters.created_before)
    return found


def _is(name: str, value: Any, dialect: str) -> ColumnElement[bool]:
    stored: Any = col(Run.config)[name]
    same: ColumnElement[bool]
    if value is None:
        same = stored.as_string().is_(None)
    elif dialect == "postgresql":  # refuses to cast what is of another type; its JSON knows types
        same = stored == literal(value, Json)
    elif isinstance(value, bool):
        same = stored.as_boolean() == value
    elif isinstance(value, int | float):
        same = stored.as_float() == value
    else:
        same = stored.as_string() == str(value)
    return same
