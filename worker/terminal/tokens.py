"""Tokens of the REST API in the terminal."""

from __future__ import annotations

from collections.abc import Sequence

from rich import box
from rich.table import Table
from rich.text import Text

from ganboard.db.models import ApiToken
from ganboard.worker.formatting import clean
from ganboard.worker.terminal.console import make_console


def print_tokens(found: Sequence[ApiToken]) -> None:
    """A row for each, the newest first."""
    console = make_console()
    if not found:
        console.print("No valid tokens. Make one: ganboard token create NAME")
        return
    table = Table("id", "name", "owner", "scope", "valid until", "last used", box=box.SIMPLE_HEAD)
    for token in found:
        used = "never" if token.used_at is None else f"{token.used_at:%Y-%m-%d %H:%M}"
        words = token.id, token.name, token.owner, token.scope, f"{token.expires_at:%Y-%m-%d}", used
        table.add_row(*(Text(clean(word)) for word in words))
    console.print(table)
