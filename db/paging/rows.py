"""Rows of a table in pages, newest first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from sqlalchemy import ColumnElement, Engine, tuple_
from sqlalchemy.orm import defer
from sqlmodel import col, select

from ganboard.db.engine import reading
from ganboard.db.paging.cursor import Position

Row = TypeVar("Row")


@dataclass(frozen=True)
class Page(Generic[Row]):
    """Some rows, and where the next page begins; None if this is the last."""

    rows: list[Row]
    after: Position | None


def page(
    engine: Engine,
    table: type[Row],
    conditions: Sequence[ColumnElement[bool]] = (),
    *,
    limit: int,
    after: Position | None = None,
    moment: str = "created_at",
    without: Sequence[Any] = (),
) -> Page[Row]:
    """The next `limit` rows after a position, or the first, in the order of the column `moment` and
    of ids. The columns in `without` are not read."""
    columns: Any = table
    at, row_id = col(getattr(columns, moment)), col(columns.id)
    wanted = select(table).where(*conditions)
    if after is not None:
        wanted = wanted.where(tuple_(at, row_id) < (after.at, after.id))
    wanted = wanted.order_by(at.desc(), row_id.desc()).limit(limit + 1)
    with reading(engine) as session:
        found = list(session.exec(wanted.options(*map(defer, without))))
    shown = found[:limit]
    last: Any = shown[-1] if len(found) > limit else None
    return Page(shown, None if last is None else Position(getattr(last, moment), last.id))
