"""Ids of runs, studies, requests and versions."""

from __future__ import annotations

import re
import secrets

ID = "[a-z0-9]{1,32}"  # a pattern: safe in a path, a key and an address


def new_id() -> str:
    """Ten characters from an alphabet without look-alikes (48 bits): short enough to type, unique
    across machines."""
    return "".join(secrets.choice("abcdefghjkmnpqrstuvwxyz23456789") for _ in range(10))


def is_id(text: str) -> bool:
    """Whether `text` has the form of an id."""
    return re.fullmatch(ID, text) is not None
