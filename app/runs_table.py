"""The table of runs: one row per run, and how a selection of rows stays a selection of runs."""

from __future__ import annotations

import hashlib
from datetime import datetime
from typing import Any

import pandas as pd
import streamlit as st

from app import text
from db.models import ENDED, Run

COLUMNS = (
    "Run", "Status", "Progress", "Epoch", "G loss", "D loss", "s/epoch", "Images/s", "Data", "Batch", "Precision", "XLA", "Strategy",
    "Created", "Duration", "Id",
)  # fmt: skip


def frame(runs: list[Run]) -> pd.DataFrame:
    """A row per run in the given order, with COLUMNS and what `with_duration` needs; figures that do not exist yet are missing."""
    rows = [_row(run) for run in runs]
    return pd.DataFrame(rows, columns=[*COLUMNS, "started_at", "ended_at", "ended"])


def with_duration(table: pd.DataFrame, present: datetime) -> pd.DataFrame:
    """Fill in "Duration": wall-clock time from start to end, or to `present` while the run has not ended."""
    ends = table["ended_at"].where(table["ended"], present)
    passed = pd.to_datetime(ends, utc=True) - pd.to_datetime(table["started_at"], utc=True)
    return table.assign(Duration=passed.dt.floor("s"))[list(COLUMNS)]


def _row(run: Run) -> dict[str, Any]:
    config = run.config
    total = (run.steps_per_epoch or 0) * config.get("epochs", 0)
    return {
        "Run": run.name,
        "Status": [text.status_word(run.status)],
        "Progress": min(100.0, 100 * run.step / total) if total else 0.0,
        "Epoch": f"{run.epoch} / {config.get('epochs', '?')}",
        "G loss": run.g_loss,
        "D loss": run.d_loss,
        "s/epoch": run.seconds / run.epoch if run.epoch else None,
        "Images/s": run.images_per_second,
        "Data": config.get("dataset"),
        "Batch": config.get("batch_size"),
        "Precision": config.get("precision"),
        "XLA": "on" if config.get("xla") else "off",
        "Strategy": _strategy(config),
        "Created": run.created_at,
        "Duration": None,
        "Id": run.id,
        "started_at": run.started_at,
        "ended_at": run.ended_at,
        "ended": run.status in ENDED,
    }


def _strategy(config: dict[str, Any]) -> str:
    replicas = config.get("replicas", 1)
    name = config.get("strategy", "auto")
    if name == "auto":
        name = "mirrored" if replicas > 1 else "default"
    return f"{name} × {replicas}" if replicas > 1 else str(name)


def key(run_ids: list[str]) -> str:
    """The widget's key: another one whenever the rows change.

    The browser reports selected rows by position. A click on a table that has changed meanwhile names another widget and is dropped,
    instead of picking the run that has moved into that place.
    """
    return "runs_" + hashlib.sha256(",".join(run_ids).encode()).hexdigest()[:16]


def show(table: pd.DataFrame, selected: list[str]) -> list[str]:
    """Draw the table with these runs selected; returns the ids that are selected now, in the table's order."""
    run_ids = table["Id"].tolist()
    widget = key(run_ids)
    if widget not in st.session_state:
        rows = [row for row, run_id in enumerate(run_ids) if run_id in selected]
        st.session_state[widget] = {"selection": {"rows": rows, "columns": [], "cells": []}}
    state = st.dataframe(
        table,
        key=widget,
        on_select="rerun",
        selection_mode="multi-row",
        hide_index=True,
        height=min(38 + 36 * max(len(table), 1), 640),
        row_height=36,
        column_config=_config(),
        lazy=False,
        placeholder="–",
    )
    return [run_ids[row] for row in sorted(state["selection"]["rows"]) if row < len(run_ids)]


def _config() -> dict[str, Any]:
    column = st.column_config
    return {
        "Run": column.TextColumn(width="medium", pinned=True),
        "Status": column.MultiselectColumn(  # one coloured chip; nothing is edited here
            width=104,
            options=[look.word for look in text.STATUS.values()],
            color=[look.colour for look in text.STATUS.values()],
        ),
        "Progress": column.ProgressColumn(min_value=0, max_value=100, format="%.0f%%", width=116, help="Steps done of all steps"),
        "Epoch": column.TextColumn(width="small", alignment="right", help="Finished epochs of those planned"),
        "G loss": column.NumberColumn(format="%.4f", help="Generator: the newest step's loss while it trains, then the last epoch's mean"),
        "D loss": column.NumberColumn(format="%.4f", help="Discriminator: likewise"),
        "s/epoch": column.NumberColumn(format="%.3g", help="Training seconds per finished epoch; tracing and compiling left out"),
        "Images/s": column.NumberColumn(format="%.0f", help="Real images per training second, newest measurement"),
        "Batch": column.NumberColumn(format="%d", help="Global batch: over all replicas"),
        "Strategy": column.TextColumn(help="How replicas are spread, and how many"),
        "Created": column.DatetimeColumn(format="distance", help="When it was submitted"),
        "Duration": column.NumberColumn(format="compact", help="Wall-clock time since it first started, waiting and compiling included"),
        "Id": column.TextColumn(help="For the command line: `ganboard show ID`"),
    }
