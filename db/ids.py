"""Ids of runs, studies, requests and versions, and what a beginning of one means."""

from __future__ import annotations

import re
import secrets
from typing import Any, TypeVar

from sqlmodel import Session, col, select

from ganboard.db.errors import DbError

Row = TypeVar("Row")
ID = "[a-z0-9]{1,32}"  # a pattern: safe in a path, a key and an address


def new_id() -> str:
    """Ten characters from an alphabet without look-alikes (48 bits): short enough to type, unique
    across machines."""
    return "".join(secrets.choice("abcdefghjkmnpqrstuvwxyz23456789") for _ in range(10))


def is_id(text: str) -> bool:
    """Whether `text` has the form of an id."""
    return re.fullmatch(ID, text) is not None


def find(
    session: Session, table: type[Row], text: str, *, what: str, lists: str, unknown: type[DbError]
) -> Row:
    """The row of `table` with this id, or the only one whose id begins with `text`; `latest` is the
    newest. Raises `unknown`, with a sentence about `what`, which the command `lists` shows."""
    columns: Any = table
    prefix = text.strip().lower()[:200]
    wanted = select(table).order_by(col(columns.created_at).desc())
    wanted = (
        wanted.limit(1)
        if prefix == "latest"
        else wanted.where(col(columns.id).startswith(prefix, autoescape=True)).limit(2)
    )
    found = list(session.exec(wanted)) if prefix else []
    if len(found) == 1:
        return found[0]
    if found:
        raise unknown(f"More than one {what} id starts with {text[:80]!r}. Enter more characters.")
    raise unknown(f"There is no {what} {text[:80]!r}: `{lists}` lists them.")
