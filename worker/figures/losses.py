"""Losses of generator and discriminator: per step, raw and smoothed, and their means per epoch."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from ganboard.worker.figures.template import (
    NETS,
    Axis,
    along,
    course,
    draw_events,
    draw_not_finite,
    finite,
    limit,
    thin,
)


def steps(
    frame: pd.DataFrame,
    *,
    x: Axis = "step",
    smoothed: bool = False,
    log_x: bool = False,
    log_y: bool = False,
    robust: bool = False,
    events: pd.DataFrame | None = None,
) -> go.Figure:
    """Loss of every step, from `db.runs.series.step_losses`; if `smoothed`, pale behind its
    smoothed course.

    `robust` lets the y axis show the 1st to 99th percentile of all steps; `events` are those of
    `db.runs.series.events_frame`.
    """
    plot = course(x, "Loss per step", log_x=log_x, log_y=log_y)
    at = along(frame, x)
    for net, name, colour in NETS:
        raw = finite(frame[f"{net}_loss"])
        if smoothed:
            pale = {"color": colour, "width": 1}
            plot.add_scatter(
                uid=f"{net}-raw",
                x=at,
                y=raw,
                mode="lines",
                line=pale,
                opacity=0.3,
                legendgroup=net,
                showlegend=False,
                hoverinfo="skip",
            )
        line = {"color": colour, "width": 2 if smoothed else 1.5}
        values = finite(frame[f"{net}_smooth"]) if smoothed else raw
        plot.add_scatter(
            uid=net,
            x=at,
            y=values,
            mode="lines",
            line=line,
            name=name,
            legendgroup=net,
            hovertemplate="%{y:.4f}",
        )
    draw_not_finite(plot, at, frame["g_loss"], frame["d_loss"])
    return _finished(plot, x, frame.attrs.get("usual") if robust else None, events)


def epochs(
    frame: pd.DataFrame,
    *,
    x: Axis = "epoch",
    log_x: bool = False,
    log_y: bool = False,
    robust: bool = False,
    events: pd.DataFrame | None = None,
) -> go.Figure:
    """Mean loss of each epoch, from `db.runs.series.epochs_frame` of one run, at the epoch's end;
    options as those of `steps`."""
    plot = course(x, "Mean loss per epoch", log_x=log_x, log_y=log_y)
    rows = thin(frame)
    at = along(rows, x)
    for net, name, colour in NETS:
        plot.add_scatter(
            uid=net,
            x=at,
            y=finite(rows[f"{net}_loss"]),
            mode="lines+markers" if len(rows) <= 60 else "lines",
            line={"color": colour, "width": 2},
            marker={"size": 5},
            name=name,
            hovertemplate="%{y:.4f}",
        )
    draw_not_finite(plot, at, rows["g_loss"], rows["d_loss"])
    known = finite(rows[["g_loss", "d_loss"]])
    usual = np.nanpercentile(known, (1, 99)) if np.isfinite(known).any() else None
    return _finished(plot, x, usual if robust else None, events)


def _finished(
    plot: go.Figure, x: Axis, usual: Iterable[float] | None, events: pd.DataFrame | None
) -> go.Figure:
    if usual is not None:
        low, high = usual
        limit(plot, low, high)
    if events is not None:
        draw_events(plot, events, x)
    return plot
