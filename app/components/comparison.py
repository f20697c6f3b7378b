"""The parts of the comparison: who is compared, in figures, pictures and settings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd
import streamlit as st
from sqlalchemy import Engine

from app import text
from app.components.live_plotly import live_plotly
from app.components.run_charts import LossOptions, enlarged, epoch_slider
from app.components.run_records import shown
from app.components.run_timings import time_shares
from app.figures import compare
from app.theme.palette import run_colours
from db import queries, series
from db.models import Run
from gan.config import RunConfig, diff

POINTS = 1000  # per run and network
MEASURED = {  # title, unit, digits, factor
    "step_p50": ("Median step", "Milliseconds", 1, 1e3),
    "gflops": ("GFLOP/s in convolutions and products", "GFLOP/s", 1, 1.0),
    "reduce_bytes": ("All-reduce per step and replica", "MB", 2, 1e-6),
    "peak_memory_bytes": ("Peak memory", "MiB", 0, 2.0**-20),
}


@dataclass(frozen=True)
class Compared:
    """The runs of a comparison, in the order of the URL, and the one that the others are measured against."""

    runs: list[Run]
    baseline: Run

    @property
    def ids(self) -> list[str]:
        return [run.id for run in self.runs]

    def labels(self) -> dict[str, str]:
        """A name for each run, with its id where names repeat."""
        names = {run.id: text.shorten(run.name, 40) for run in self.runs}
        repeated = {name for name, count in Counter(names.values()).items() if count > 1}
        return {run_id: f"{name} ({run_id})" if name in repeated else name for run_id, name in names.items()}

    def series(self) -> list[compare.Series]:
        labels, colours = self.labels(), run_colours(self.ids)
        return [compare.Series(run.id, labels[run.id], colours[run.id]) for run in self.runs]


def speeds(runs: list[Run], epochs: pd.DataFrame) -> dict[str, tuple[float | None, float | None]]:
    """Per run: median seconds per epoch and images per second over all epochs, both without compiling; None before the first epoch."""
    found: dict[str, tuple[float | None, float | None]] = {}
    for run in runs:
        own = epochs[epochs["run_id"] == run.id]
        total = float(own["seconds"].sum())
        found[run.id] = (
            (float(own["seconds"].median()), float(own["images"].sum()) / total if total > 0 else None) if len(own) else (None, None)
        )
    return found


def draw_summary(engine: Engine, compared: Compared) -> None:
    """One row per run: what it is, what it cost, what it reached."""
    speed = speeds(compared.runs, series.epochs_frame(engine, compared.ids))
    labels, colours = compared.labels(), run_colours(compared.ids)
    rows = [
        {
            "": "■",
            "Run": labels[run.id],
            "Status": text.status_word(run.status),
            "Epochs": f"{run.epoch} of {run.config['epochs']}",
            "Training": text.duration(run.seconds or None),
            "Median per epoch": text.duration(speed[run.id][0]),
            "Images/s": text.integer(speed[run.id][1]),
            "Generator loss": text.decimal(run.g_loss),
            "Discriminator loss": text.decimal(run.d_loss),
            "Baseline": "●" if run.id == compared.baseline.id else "",
        }
        for run in compared.runs
    ]
    chips = [f"color: {colours[run.id]}; font-size: 1.3em" for run in compared.runs]
    st.dataframe(
        pd.DataFrame(rows).style.apply(lambda _: chips, subset=[""]),
        hide_index=True,
        height="content",
        key="summary",
        column_config={
            "": st.column_config.TextColumn(width=30, help="Colour of the run in every figure"),
            "Training": st.column_config.TextColumn(help="Training steps of all finished epochs, compiling and waiting left out"),
            "Median per epoch": st.column_config.TextColumn(help="Median over the finished epochs, compiling left out"),
            "Images/s": st.column_config.TextColumn(help="Real images per second of training, compiling left out"),
        },
    )


def draw_losses(engine: Engine, compared: Compared, options: LossOptions) -> None:
    if options.axis == "epoch":
        everything = series.epochs_frame(engine, compared.ids)
        frames = {run_id: everything[everything["run_id"] == run_id] for run_id in compared.ids}
    else:
        frames = {run_id: series.step_losses(engine, run_id, points=POINTS) for run_id in compared.ids}
    if all(frame.empty for frame in frames.values()):
        st.caption("None of these runs has losses yet.")
        return
    for column, (net, name) in zip(st.columns(2), (("g", "Generator"), ("d", "Discriminator")), strict=True):
        with column:
            st.markdown(f"**{name}**")
            live_plotly(
                compare.losses(compared.series(), frames, net=net, x=options.axis, smoothing=options.smoothing, log_y=options.log_y),
                key=f"compare-{net}-{options.axis}-{options.log_y}",
            )
    st.caption("Means of the epochs." if options.axis == "epoch" else "Every step, or the extremes of neighbouring steps in long runs.")


def grid_epochs(engine: Engine, compared: Compared) -> list[int]:
    """Epochs for which at least one of the runs has a grid, ascending."""
    return sorted({epoch for run_id in compared.ids for epoch in queries.grid_epochs(engine, run_id)})


def image_controls(engine: Engine, compared: Compared) -> tuple[int | None, list[int]]:
    """One slider for all runs; returns the epoch (None: the newest) and the epochs that were offered."""
    stored = grid_epochs(engine, compared)
    if len(stored) < 2:
        return None, stored
    return epoch_slider(stored), stored


def draw_images(engine: Engine, compared: Compared, options: tuple[int | None, list[int]]) -> None:
    chosen, offered = options
    stored = grid_epochs(engine, compared)
    if stored != offered:
        st.rerun()  # the slider stands outside the part that updates
    if not stored:
        st.caption("None of these runs has drawn a grid yet.")
        return
    epoch = stored[-1] if chosen is None else chosen
    labels = compared.labels()
    width = min(4, len(compared.runs))
    for start in range(0, len(compared.runs), width):
        for column, run in zip(st.columns(width), compared.runs[start : start + width], strict=False):
            with column:
                st.markdown(f"**{text.escape(labels[run.id])}**")
                own = [known for known in queries.grid_epochs(engine, run.id) if known <= epoch]
                grid = queries.grid(engine, run.id, own[-1]) if own else None
                if grid is None:
                    st.caption("No grid up to this epoch.")
                    continue
                when = "Before training" if grid.epoch == 0 else f"After epoch {grid.epoch}"
                st.image(
                    enlarged(grid),
                    width="stretch",
                    output_format="PNG",
                    caption=when if grid.epoch == epoch else f"{when}, its last before {epoch}",
                )


def draw_timings(engine: Engine, compared: Compared) -> None:
    speed = speeds(compared.runs, series.epochs_frame(engine, compared.ids))
    if all(seconds is None for seconds, _ in speed.values()):
        st.caption("None of these runs has finished an epoch yet.")
        return
    measures = series.measures_frame(engine, compared.ids)
    _bars(compared, "Seconds per epoch", "Seconds", 2, {run_id: pair[0] for run_id, pair in speed.items()})
    _bars(compared, "Images per second", "Images per second", 0, {run_id: pair[1] for run_id, pair in speed.items()})
    for name, (title, unit, digits, scale) in MEASURED.items():
        values = {run_id: value for run_id, value in medians(measures, name).items() if value > 0} if name in measures else {}
        if values:
            _bars(compared, title, unit, digits, {run_id: scale * value for run_id, value in values.items()})
    shares = {run_id: time_shares(measures[measures["run_id"] == run_id]) for run_id in compared.ids}
    if any(shares.values()):
        st.markdown("**Where the time went**")
        live_plotly(compare.parts(compared.series(), shares), key=f"compare-parts-{len(compared.runs)}")
    st.caption(
        "Medians of the finished epochs, and real images per second over all of them; compiling left out. "
        "The ratio is to the baseline run: for seconds, all-reduce and memory less is better, for images and GFLOP per second more."
    )


def medians(measures: pd.DataFrame, name: str) -> dict[str, float]:
    """Median over the epochs of one column of `db.series.measures_frame`, by run id; runs without it are left out."""
    return {str(run_id): float(value) for run_id, value in measures.groupby("run_id")[name].median().dropna().items()}


def _bars(compared: Compared, title: str, unit: str, digits: int, values: Mapping[str, float | None]) -> None:
    st.markdown(f"**{title}**")
    plot = compare.bars(compared.series(), values, unit=unit, baseline=compared.baseline.id, digits=digits)
    live_plotly(plot, key=f"compare-bars-{title}-{len(compared.runs)}")


def settings_frame(compared: Compared) -> pd.DataFrame:
    """The settings in which at least one run differs from the baseline: one row each, one column per run."""
    base = compared.baseline.config
    differing = {name for run in compared.runs for name in diff(base, run.config)}
    order = [*(name for name in RunConfig.model_fields if name in differing), *sorted(differing - set(RunConfig.model_fields))]
    labels = compared.labels()
    columns: dict[str, Any] = {"Setting": order}
    return pd.DataFrame(columns | {labels[run.id]: [shown(run.config.get(name)) for name in order] for run in compared.runs})


def draw_settings(compared: Compared) -> None:
    frame = settings_frame(compared)
    if frame.empty:
        st.caption("These runs have the same settings.")
        return
    st.dataframe(frame, hide_index=True, height="content", key="differences")
    st.caption("Only settings that differ are listed.")
