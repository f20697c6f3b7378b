"""The comparison as files for other programs."""

from __future__ import annotations

import math

import pandas as pd
import streamlit as st
from sqlalchemy import Engine

from ganboard.app.compare import losses
from ganboard.app.compare.comparison import Compared, by_run
from ganboard.app.run.quality import best
from ganboard.db.curves import series
from ganboard.gan.quality.declared import METRICS
from ganboard.gan.settings.features import recorded
from ganboard.worker.comparison import stored
from ganboard.worker.interchange.export import safe_cell


def menu(engine: Engine, compared: Compared) -> None:
    """A button for each file, which is created on demand."""
    files = {
        "Summary and settings": ("summary", lambda: summary_frame(engine, compared)),
        "Losses of every epoch": (
            "epochs",
            lambda: curves_frame(compared, losses.frames_of(engine, compared, by_epoch=True)),
        ),
        "Step losses, as plotted": (
            "steps",
            lambda: curves_frame(compared, losses.frames_of(engine, compared, by_epoch=False)),
        ),
        "Quality": (
            "quality",
            lambda: curves_frame(
                compared,
                by_run(compared, series.quality_frame(engine, compared.ids, METRICS)),
                features=True,
            ),
        ),
    }
    with st.popover("Download", icon=":material/download:", key="files"):
        for label, (name, make) in files.items():
            st.download_button(
                f"{label} (CSV)",
                lambda make=make: make().to_csv(index=False).encode(),  # type: ignore[misc]
                file_name=f"compare-{name}.csv",
                mime="text/csv",
                key=f"file-{name}",
                on_click="ignore",
                width="stretch",
            )
        st.caption("The camera icon above a figure saves it as PNG.")


def summary_frame(engine: Engine, compared: Compared) -> pd.DataFrame:
    """One row per run with its metrics as numbers and all its settings, for a file; text that a
    spreadsheet would evaluate is kept as text."""
    speed = stored.medians(series.speeds(engine, compared.ids))
    evaluated = by_run(compared, series.quality_frame(engine, compared.ids, METRICS))
    rows = []
    for run in compared.runs:
        lowest = best(evaluated[run.id])
        metrics = {
            "run_id": run.id,
            "name": safe_cell(run.name),
            "status": run.status,
            "finished_epochs": run.epoch,
            "training_seconds": run.seconds,
            "seconds_per_epoch": speed[run.id][0],
            "images_per_second": run.images_per_second,
            "g_loss": run.g_loss,
            "d_loss": run.d_loss,
            "quality_features": recorded(run.facts).fact if lowest else None,
            "best_fid": lowest.value if lowest else math.nan,
            "best_fid_epoch": lowest.epoch if lowest else None,
        }
        settings = {
            name: safe_cell(value) if isinstance(value, str) else value
            for name, value in run.config.items()
        }
        rows.append(metrics | settings)
    return pd.DataFrame(rows)


def curves_frame(
    compared: Compared, frames: dict[str, pd.DataFrame], *, features: bool = False
) -> pd.DataFrame:
    """The rows of all runs under each other, with the columns run_id, name and, of numbers of
    `features`, their names in front."""
    parts = []
    for run in compared.runs:
        part = (
            frames[run.id]
            .drop(columns=["run_id", "histogram"], errors="ignore")
            .dropna(axis="columns", how="all")
        )
        part.insert(0, "run_id", run.id)
        part.insert(1, "name", safe_cell(run.name))
        if features:
            part.insert(2, "quality_features", recorded(run.facts).fact)
        parts.append(part)
    return pd.concat([part for part in parts if len(part)] or parts[:1])
