"""The losses of several runs over each other, as differences to the baseline, or as means of
groups."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import streamlit as st
from sqlalchemy import Engine

from ganboard.app.compare import curves
from ganboard.app.compare.comparison import Compared, by_run
from ganboard.app.run.cache import newest
from ganboard.app.run.charts import LossOptions, loss_controls
from ganboard.app.widgets.live_plotly import live_plotly
from ganboard.db.curves import reduction, series
from ganboard.db.models import Run
from ganboard.worker.figures import compare
from ganboard.worker.figures.template import NETS

POINTS = 1000  # per run and network
COLUMNS = ("g_loss", "d_loss", "g_smooth", "d_smooth")
DIFFERENCE = "diff"
CLOCK = "Runs have no mean over the wall clock: they are drawn one by one."


@dataclass(frozen=True)
class Options:
    loss: LossOptions
    difference: bool  # to the baseline


def difference_control() -> None:
    """Whether the losses of the baseline are subtracted, kept in the URL; for the row above the
    other controls."""
    st.toggle(
        "Difference to the baseline",
        key=DIFFERENCE,
        bind="query-params",
        help="Each run's mean loss of an epoch minus that of the baseline at the same place of the"
        " x axis; not available for the wall clock.",
    )


def controls(engine: Engine, compared: Compared) -> Options:
    options = loss_controls(default="epoch", key="by", events=False)
    return Options(options, bool(st.session_state.get(DIFFERENCE)) and options.axis != "time")


def frames_of(
    engine: Engine, compared: Compared, *, by_epoch: bool, smoothing: float = 0.0
) -> dict[str, pd.DataFrame]:
    """The losses of each run: means of its epochs, or those of its steps, reduced to POINTS."""
    if not by_epoch:
        return {run.id: _steps(engine, run, smoothing) for run in compared.runs}
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


def _steps(engine: Engine, run: Run, smoothing: float) -> pd.DataFrame:
    return newest(
        engine,
        run.id,
        "compared losses",
        smoothing,
        (run.attempt, run.step, run.epoch),
        lambda: series.step_losses(engine, run.id, points=POINTS, smoothing=smoothing),
    )


def draw(engine: Engine, compared: Compared, options: Options) -> None:
    """The tab Losses: over epochs their means, over any other axis those of every step. What is
    subtracted or averaged are means of epochs on every axis: steps of two runs do not match."""
    loss = options.loss
    grouped = compared.grouping is not None and loss.axis != "time"
    by_epoch = loss.axis == "epoch" or grouped or options.difference
    frames = frames_of(engine, compared, by_epoch=by_epoch, smoothing=loss.smoothing)
    if all(frame.empty for frame in frames.values()):
        st.caption("None of these runs has losses yet.")
        return
    if options.difference:
        frames = curves.differences(frames, compared.baseline.id, loss.axis, COLUMNS)
    for column, (net, name, _) in zip(st.columns(2), NETS, strict=True):
        with column:
            plot = _figure(compared, frames, net, name, options, grouped=grouped)
            live_plotly(plot, key=f"compare-{net}-{loss.scale}-{options.difference:d}{grouped:d}")
    if not grouped:
        curves.note_coinciding(
            compared, frames, "g_smooth" if loss.smoothing else "g_loss", loss.axis
        )
    said = [
        "Means of the epochs."
        if by_epoch
        else "Every step; for long runs the extremes of neighbouring steps."
    ]
    if compared.grouping is not None and not grouped:
        said.append(CLOCK)
    if loss.robust:
        said.append("**Outliers are hidden:** the loss axes show the 1st to 99th percentile.")
    st.caption(" ".join(said))


def _figure(
    compared: Compared,
    frames: Mapping[str, pd.DataFrame],
    net: str,
    name: str,
    options: Options,
    *,
    grouped: bool,
) -> go.Figure:
    """The curves of one network."""
    loss = options.loss
    title = f"{name} loss − baseline" if options.difference else f"{name} loss"
    log_y = loss.log_y and not options.difference
    if grouped:
        return curves.means(
            compared,
            compared.ids,
            frames,
            column=f"{net}_smooth" if loss.smoothing else f"{net}_loss",
            x=loss.axis,
            title=title,
            log_x=loss.log_x,
            log_y=log_y,
        )
    return compare.losses(
        compared.series(),
        frames,
        net=net,
        x=loss.axis,
        smoothed=loss.smoothing > 0,
        log_x=loss.log_x,
        log_y=log_y,
        usual=_usual(frames, net) if loss.robust else None,
        title=title,
    )


def _usual(frames: Mapping[str, pd.DataFrame], net: str) -> tuple[float, float] | None:
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
