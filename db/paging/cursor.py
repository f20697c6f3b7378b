"""Where a page of a list ends: the sort key of its last row, opaque to who passes it on. Rows that
are added or removed between two pages make none of the others appear twice or be left out."""

from __future__ import annotations

import base64
from datetime import UTC, datetime
from typing import NamedTuple

import orjson

from ganboard.db.errors import BadCursor


class Position(NamedTuple):
    """The row after which the next page begins."""

    at: datetime
    id: str


def encode(position: Position) -> str:
    """The position as characters that need no escaping in an address."""
    packed = orjson.dumps([position.at, position.id])
    return base64.urlsafe_b64encode(packed).decode().rstrip("=")


def decode(text: str) -> Position:
    """The position that `encode` wrote. Raises BadCursor."""
    try:
        at, id_ = orjson.loads(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))
        position = Position(datetime.fromisoformat(at), str(id_))
        position.at.astimezone(UTC)  # as the database will
    except (ValueError, TypeError, OverflowError) as error:
        raise BadCursor(
            f"The cursor {text[:40]!r} was not given out by this list: begin without one."
        ) from error
    if position.at.tzinfo is None:
        raise BadCursor("The cursor has no time zone: begin without one.")
    return position
