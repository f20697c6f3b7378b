"""Shortcuts of all pages, the list of them (`?`), and the command palette (Ctrl-K).

A page that has keys of its own names them; what is pressed or chosen arrives as one word.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path

import streamlit as st

_HERE = Path(__file__)
# of every page, for the list
COMMON = {"?": "This list", "Ctrl K": "Commands: pages, and runs by name", "/": "Search"}


@dataclass(frozen=True)
class Command:
    """An entry of the palette."""

    command: str  # what Python gets
    label: str
    hint: str


def _html(shortcuts: Mapping[str, str]) -> str:
    rows = "".join(
        f"<dt>{' '.join(f'<kbd>{escape(key)}</kbd>' for key in keys.split(' '))}</dt>"
        f"<dd>{escape(meaning)}</dd>"
        for keys, meaning in shortcuts.items()
    )
    return f"""
<dialog class="help" aria-labelledby="help-title">
  <h2 id="help-title">Keyboard shortcuts</h2>
  <dl>{rows}</dl>
  <button type="button">Close</button>
</dialog>
<dialog class="palette" aria-label="Commands">
  <input type="text" role="combobox" aria-label="Command" aria-expanded="true" autocomplete="off"
    aria-controls="commands" aria-autocomplete="list" placeholder="Page or run">
  <ul id="commands" role="listbox" aria-label="Commands"></ul>
  <p hidden>No matching command.</p>
</dialog>
"""


class Keyboard:
    """The component with the shortcuts of an application: `pages` by letter, `keys` of some pages,
    each with what it does."""

    def __init__(self, pages: Mapping[str, str], keys: Mapping[str, str]) -> None:
        letters = {f"g {letter}": f"Go to {title}" for letter, title in pages.items()}
        self._mount = st.components.v2.component(
            "ganboard_keyboard",
            html=_html({**COMMON, **letters, **keys}),
            css=_HERE.with_suffix(".css").read_text(),
            js=_HERE.with_suffix(".js").read_text(),
        )

    def pressed(
        self, commands: Sequence[Command], pages: Mapping[str, str], keys: Sequence[str]
    ) -> str | None:
        """Listen on this page; the command that was chosen just now, or `key:x` for one of `keys`.
        `pages` are commands by letter."""
        data = {
            "commands": [vars(command) for command in commands],
            "pages": dict(pages),
            "keys": list(keys),
        }
        mounted = self._mount(key="keyboard", data=data, on_command_change=lambda: None)
        chosen = mounted.get("command")  # no attribute where a page is rendered without a browser
        return str(chosen) if chosen else None
