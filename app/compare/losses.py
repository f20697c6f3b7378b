"""The losses of several runs over each other."""

from __future__ import annotations

import numpy as np
import pandas as pd
import streamlit as st
from sqlalchemy import Engine

from ganboard.app.compare.comparison import Compared, by_run
from ganboard.app.run.charts import LossOptions
from ganboard.app.widgets.live_plotly import live_plotly
from ganboard.db.runs import reduction, series
from ganboard.worker.figures import compare

POINTS = 1000  # per run and network


def frames_of(
    engine: Engine, compared: Compared, *, by_epoch: bool, smoothing: float = 0.0
) -> dict[str, pd.DataFrame]:
    """The losses of each run: means of its epochs, or those of its steps, reduced to POINTS."""
    if not by_epoch:
        place = str(engine.url)
        return {
            run.id: _steps(engine, place, run.id, (run.attempt, run.step, run.epoch), smoothing)
            for run in compared.runs
        }
    frames = by_run(compared, series.epochs_frame(engine, compared.ids))
    smooth = {
        run_id: {
            f"{net}_smooth": reduction.smooth(
                frame[f"{net}_loss"].to_numpy(dtype=np.float64), smoothing
            )
            for net in ("g", "d")
        }
        for run_id, frame in frames.items()
    }
    return {run_id: frame.assign(**smooth[run_id]) for run_id, frame in frames.items()}


@st.cache_data(max_entries=64, show_spinner=False)
def _steps(
    _engine: Engine, database: str, run_id: str, version: tuple[int, ...], smoothing: float
) -> pd.DataFrame:
    return series.step_losses(_engine, run_id, points=POINTS, smoothing=smoothing)


def draw(engine: Engine, compared: Compared, options: LossOptions) -> None:
    """The tab Losses: over epochs their means, over any other axis those of every step."""
    by_epoch = options.axis == "epoch"
    frames = frames_of(engine, compared, by_epoch=by_epoch, smoothing=options.smoothing)
    if all(frame.empty for frame in frames.values()):
        st.caption("None of these runs has losses yet.")
        return
    for column, net in zip(st.columns(2), ("g", "d"), strict=True):
        with column:
            plot = compare.losses(
                compared.series(),
                frames,
                net=net,
                x=options.axis,
                smoothed=options.smoothing > 0,
                log_x=options.log_x,
                log_y=options.log_y,
                usual=_usual(frames, net) if options.robust else None,
            )
            live_plotly(plot, key=f"compare-{net}-{options.scale}")
    said = (
        "Means of the epochs."
        if by_epoch
        else "Every step; for long runs the extremes of neighbouring steps."
    )
    st.caption(
        said
        + (
            " **Outliers are hidden:** the loss axes show the 1st to 99th percentile."
            if options.robust
            else ""
        )
    )


def _usual(frames: dict[str, pd.DataFrame], net: str) -> tuple[float, float] | None:
    """From the lowest 1st to the highest 99th percentile of the runs; None without finite
    losses."""
    spans = []
    for frame in frames.values():
        losses = frame[f"{net}_loss"].to_numpy(dtype=np.float64)
        if len(finite := losses[np.isfinite(losses)]):
            spans.append(frame.attrs.get("usual") or np.percentile(finite, (1, 99)))
    return (
        (float(min(low for low, _ in spans)), float(max(high for _, high in spans)))
        if spans
        else None
    )
