"""The runs that a grid would make, as a table: what cannot be made is crossed out and says why.

`st.table` would do, but no keyboard reaches a region of it that scrolls.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import streamlit as st

from ganboard.app.launch import plan, settings_form, study_diff
from ganboard.worker import formatting
from ganboard.worker.submission.sweep import Member

_HTML = (
    "<div class='grid-table' tabindex='0' role='region' aria-label='The runs of this"
    " sweep'><table></table></div>"
)
_CSS = """
.grid-table {
  overflow: auto; max-height: 420px; color: var(--st-text-color);
  font-size: 0.875rem; font-family: var(--st-font);
}
.grid-table table { width: 100%; border-collapse: collapse; }
.grid-table th, .grid-table td {
  padding: 0.3rem 0.8rem 0.3rem 0; text-align: left; vertical-align: top;
  border-bottom: 1px solid var(--st-border-color);
}
.grid-table td:last-child { min-width: 12rem; }
.grid-table a { color: var(--st-link-color); }
"""
_JS = Path(__file__).with_name("sweep_table.js").read_text()

_mount = st.components.v2.component("ganboard_grid_table", html=_HTML, css=_CSS, js=_JS)


def draw(grid: Sequence[Member], varied: Sequence[str]) -> None:
    """A row for each member with its number, the values of the settings that vary, its steps, its
    time and a remark."""
    headings = ["Run", *map(settings_form.label, varied), "Steps", "Time", "Remark"]
    _mount(
        key="grid_table",
        data={
            "headings": headings,
            "rows": [_row(number, member, varied) for number, member in enumerate(grid, 1)],
        },
    )


def _row(number: int, member: Member, varied: Sequence[str]) -> dict[str, Any]:
    return {
        "number": str(number),
        "values": [
            formatting.shorten(study_diff.format_value(member.changes[name]), 40) for name in varied
        ],
        "rest": [
            formatting.integer(member.plan.total_steps) if member.plan else "–",
            time_of(member),
        ],
        "refused": member.problem is not None,
        "finished": member.finished,
        "remark": member.problem or (f"Time {member.estimate.basis}." if member.estimate else ""),
    }


def time_of(member: Member) -> str:
    """A run's estimated time, what it takes beside training included."""
    low, likely, high = (member.seconds(bound) for bound in ("low", "likely", "high"))
    if low is None or high is None or member.estimate is None:
        return "–" if member.problem else "unknown"
    text = formatting.duration(likely) if member.estimate.certain else plan.between(low, high)
    return text.replace(" ", "\N{NO-BREAK SPACE}")
