"""Notifications of the browser when a run ends: a switch that asks for its permission, and what
shows them while a page is open."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import streamlit as st

from ganboard.db.runs.notifications import Notice
from ganboard.worker import formatting

_HTML = (
    "<div class='asks' hidden><label><input type='checkbox' role='switch'>"
    "Notify me in this browser when a run ends</label><p role='status'></p></div>"
)
_CSS = """
.asks { font-family: var(--st-font); font-size: 0.875rem; color: var(--st-text-color); }
.asks label { display: flex; align-items: center; gap: 0.5rem; cursor: pointer; }
.asks input { width: 1rem; height: 1rem; accent-color: var(--st-primary-color); }
.asks p { margin: 0.25rem 0 0; opacity: 0.8; }
.asks p:empty { display: none; }
"""
_mount = st.components.v2.component(
    "ganboard_browser_notifications",
    html=_HTML,
    css=_CSS,
    js=Path(__file__).with_suffix(".js").read_text(),
)


def switch() -> None:
    """The switch, kept by the browser."""
    _mount(key="browser_notifications_switch", data={"asks": True})


def announce(notices: Sequence[Notice], newest: int) -> None:
    """Show those of `notices` that are about ended runs, each once in a browser where it is wanted.
    `newest` is the number of the newest event: what came before a browser was first here is not
    shown."""
    ended = [
        {
            "id": notice.id,
            "run": notice.run_id,
            "title": f"{formatting.shorten(notice.name, 60)} {_how(notice)}",
            "body": "" if notice.finished else formatting.shorten(notice.text, 200),
        }
        for notice in reversed(notices)
        if _how(notice)
    ]
    _mount(key="browser_notifications", data={"asks": False, "ended": ended, "newest": newest})


def _how(notice: Notice) -> str:
    if notice.finished:
        return "has finished"
    return "has failed" if notice.level == "error" and notice.status == "failed" else ""
