"""The table of runs: one row per run, and how a selection of rows stays a selection of runs."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

import pyarrow as pa
import streamlit as st

from ganboard.app.runs.columns import BEST_FIDS, COLUMNS, NUMBER, USUAL
from ganboard.db.models import ENDED
from ganboard.db.runs.listing import Listed

TO_FID = "To FID"  # there when a distance to reach is given


def frame(
    runs: Sequence[Listed],
    columns: Sequence[str] = USUAL,
    reached: Mapping[str, float] | None = None,
) -> pa.Table:
    """A row per run in the given order; what does not exist yet is null. "Duration" is left to
    `with_duration`.

    `reached` are the seconds of training until an FID was reached, by run id: a column of its own.
    """
    chosen = [name for name in COLUMNS if name in columns or name == "Run"]
    arrays = {
        name: pa.array([COLUMNS[name].value(run) for run in runs], COLUMNS[name].type)
        for name in chosen
    }
    if reached is not None:
        arrays[TO_FID] = pa.array([reached.get(run.id) for run in runs], NUMBER)
    return pa.table(arrays)


def with_duration(table: pa.Table, runs: Sequence[Listed], present: datetime) -> pa.Table:
    """Fill in "Duration", if it is shown: wall-clock time from start to end, or to `present` while
    the run has not ended."""
    place = table.schema.get_field_index("Duration")
    if place < 0:
        return table
    ends = [(run.ended_at if run.status in ENDED else present) for run in runs]
    passed = [
        max(0, int((end - run.started_at).total_seconds())) if run.started_at and end else None
        for run, end in zip(runs, ends, strict=True)
    ]
    return table.set_column(place, "Duration", pa.array(passed, pa.duration("s")))


def without_empty(table: pa.Table) -> pa.Table:
    """Leave out the distances by features that no run was evaluated with, but the first column of
    them."""
    empty = [
        name
        for name in tuple(BEST_FIDS)[1:]
        if name in table.column_names and table[name].null_count == len(table)
    ]
    return table.drop_columns(empty)


def key(run_ids: list[str]) -> str:
    """The widget's key: another one whenever the rows change.

    The browser reports selected rows by position. A click on a table that has changed meanwhile
    names another widget and is dropped, instead of picking the run that has moved into that place.
    """
    return "runs_" + hashlib.sha256(",".join(run_ids).encode()).hexdigest()[:16]


def show(table: pa.Table, run_ids: list[str], selected: list[str]) -> list[str]:
    """Draw the table, whose rows are these runs, with some selected; returns the ids selected now.

    A run that is not shown cannot be selected, as the effect of a button would be invisible.
    """
    table = without_empty(table)
    widget = key(run_ids)
    if widget not in st.session_state:
        chosen = set(selected)
        rows = [row for row, run_id in enumerate(run_ids) if run_id in chosen]
        st.session_state[widget] = {"selection": {"rows": rows, "columns": [], "cells": []}}
    state = st.dataframe(
        table,
        key=widget,
        on_select="rerun",
        selection_mode="multi-row",
        hide_index=True,
        height=min(38 + 36 * max(len(run_ids), 1), 640),
        row_height=36,
        column_config={
            name: COLUMNS[name].column_type if name in COLUMNS else _to_fid()
            for name in table.column_names
        },
        lazy=False,
        placeholder="–",
    )
    rows = sorted(row for row in state["selection"]["rows"] if 0 <= row < len(run_ids))
    return [run_ids[row] for row in rows]


def _to_fid() -> Any:
    return st.column_config.NumberColumn(
        format="%.1f s", help="Seconds of training until an evaluation first reached the target FID"
    )
