"""The keys of the list of runs: j and k preview the next run and the one before, Enter opens it, x
selects it, c compares the selected ones."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from ganboard.app import navigation
from ganboard.app.run import actions
from ganboard.app.run.actions import SELECTED

MEANINGS = {
    "j": "Preview the next run of the list",
    "k": "Preview the previous run of the list",
    "Enter": "Open the previewed run",
    "x": "Select or deselect the previewed run",
    "c": "Compare the selected runs",
}
_STEPS = {"j": 1, "k": -1}


def apply(key: str, run_ids: Sequence[str]) -> None:
    """Do what a key means in the list of these runs; nothing where it means nothing now."""
    preview = navigation.preview_param()
    selected: list[str] = st.session_state[SELECTED]
    at = run_ids.index(preview) if preview in run_ids else None
    if key in _STEPS and run_ids:
        place = 0 if at is None else min(max(at + _STEPS[key], 0), len(run_ids) - 1)
        navigation.set_preview_param(run_ids[place])
        actions.select(selected)  # so that the table is drawn with the focus on that row
    elif key == "Enter" and preview is not None and at is not None:
        navigation.open_run(preview)
    elif key == "x" and preview is not None and at is not None:
        others = [run_id for run_id in selected if run_id != preview]
        actions.select(others if preview in selected else [*selected, preview])
    elif key == "c" and 2 <= len(selected) <= navigation.MAX_COMPARED:
        navigation.open_compare(selected)
