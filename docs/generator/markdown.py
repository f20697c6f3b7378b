"""Markdown from texts that code holds."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

SPECIAL = re.compile(r"[*\\<\[\]`]|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])")
PAGE = re.compile(r"\bdocs/([a-z-]+)\.md\b")


def text(plain: str) -> str:
    """Plain text as Markdown: its characters stay as they are, code between backticks stays code,
    and a page of docs/ that it names becomes a link to it from docs/reference/."""
    parts = plain.split("`")
    if len(parts) % 2 == 0:  # a backtick without its partner is a character
        parts = [plain]
    for index in range(0, len(parts), 2):
        parts[index] = PAGE.sub(r"[docs/\1.md](../\1.md)", SPECIAL.sub(r"\\\g<0>", parts[index]))
    return "`".join(parts)


def code(value: str) -> str:
    """A value as code; nothing for an empty one."""
    return f"`{value}`" if value else ""


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table of cells that are Markdown already, followed by an empty line."""
    lines = [head, ["---"] * len(head), *rows]
    cells = [[" ".join(cell.split()).replace("|", "\\|") for cell in line] for line in lines]
    return "".join(f"| {' | '.join(line)} |\n" for line in cells) + "\n"
