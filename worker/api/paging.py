"""Lists in pages: what every one of them takes and answers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, TypeVar

from fastapi import Query

from ganboard.db.paging import cursor, rows
from ganboard.worker.api.answers import Page

MAX_LISTED = 200
USUALLY_LISTED = 50
Row = TypeVar("Row")
Limit = Annotated[int, Query(ge=1, le=MAX_LISTED)]
After = Annotated[str | None, Query(description="`next` of the previous page.")]


def position(after: str | None) -> cursor.Position | None:
    """Where the page before ended. Raises BadCursor."""
    return None if after is None else cursor.decode(after)


def answer(found: rows.Page[Any], items: Sequence[Row]) -> Page[Row]:
    """The rows of a page as `items`."""
    return Page(items=list(items), next=None if found.after is None else cursor.encode(found.after))
