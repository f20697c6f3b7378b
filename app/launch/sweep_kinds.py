"""The kinds of sweep: a grid of all combinations, or a search within a budget."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import streamlit as st

from ganboard.app.launch import search_builder, sweep_builder
from ganboard.db.runs.runtime_estimation import History
from ganboard.worker.context import Context
from ganboard.worker.submission.submit import Machines

KIND = "launch_kind"
GRID, SEARCH = "Grid", "Search"


def draw(
    context: Context,
    base: Mapping[str, Any],
    here: Machines,
    history: History,
    *,
    preset: str,
    parent_id: str | None,
    queue: Callable[[], None],
) -> None:
    """The choice of a kind, and its builder; the arguments are those of `sweep_builder.draw`."""
    kind = st.segmented_control(
        "Kind of sweep",
        (GRID, SEARCH),
        key=KIND,
        default=GRID,
        required=True,
        label_visibility="collapsed",
        persist_state="session",
    )
    if kind == SEARCH:
        search_builder.draw(context, base, preset=preset)
    else:
        sweep_builder.draw(
            context, base, here, history, preset=preset, parent_id=parent_id, queue=queue
        )
