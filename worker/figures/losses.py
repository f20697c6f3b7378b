"""Curves over the course of a run: losses of generator and discriminator per step and their means
per epoch, and metrics that a script logged."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from ganboard.db.curves import reduction
from ganboard.worker.figures.curves import draw_range, label_ends
from ganboard.worker.figures.palette import CATEGORICAL
from ganboard.worker.figures.template import (
    NETS,
    Axis,
    along,
    clip_constant,
    course,
    draw_events,
    draw_not_finite,
    finite,
    limit,
    plain,
    thin,
)

METRIC_HEIGHT = 280
MARKED = 60  # points, up to which each is marked


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
    """Loss of every step, from `db.curves.series.step_losses`; if `smoothed`, its
    smoothed course over the range of the raw losses.

    `robust` lets the y axis show the 1st to 99th percentile of all steps; `events` are those of
    `db.curves.series.events_frame`.
    """
    plot = course(x, "Loss per step", log_x=log_x, log_y=log_y)
    at = along(frame, x)
    for net, name, colour in NETS:
        raw = finite(frame[f"{net}_loss"])
        if smoothed:
            draw_range(plot, at, raw, colour, net)
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
    """Mean loss of each epoch, from `db.curves.series.epochs_frame` of one run, at the epoch's end;
    options as those of `steps`."""
    plot = course(x, "Mean loss per epoch", log_x=log_x, log_y=log_y)
    rows = thin(frame)
    at = along(rows, x)
    for net, name, colour in NETS:
        plot.add_scatter(
            uid=net,
            x=at,
            y=finite(rows[f"{net}_loss"]),
            mode="lines+markers" if len(rows) <= MARKED else "lines",
            line={"color": colour, "width": 2},
            marker={"size": 5},
            name=name,
            hovertemplate="%{y:.4f}",
        )
    draw_not_finite(plot, at, rows["g_loss"], rows["d_loss"])
    known = finite(rows[["g_loss", "d_loss"]])
    usual = np.nanpercentile(known, (1, 99)) if np.isfinite(known).any() else None
    return _finished(plot, x, usual if robust else None, events)


def metric(
    frame: pd.DataFrame,
    name: str,
    *,
    x: Axis = "step",
    smoothing: float = 0.0,
    log_x: bool = False,
    log_y: bool = False,
    robust: bool = False,
    events: pd.DataFrame | None = None,
) -> go.Figure:
    """Values of a metric from `db.curves.logged.frame`; smoothed over the points that are drawn,
    with the range of the raw ones behind.

    `robust` lets the y axis show the 1st to 99th percentile; `events` are those of
    `db.curves.series.events_frame`.
    """
    title = {"title": {"text": plain(name)}, "margin": {"t": 40}}
    plot = course(x, "", log_x=log_x, log_y=log_y, height=METRIC_HEIGHT, showlegend=False, **title)
    at = along(frame, x)
    raw = finite(frame["value"])
    colour = CATEGORICAL[0]
    if smoothing > 0:
        draw_range(plot, at, raw, colour, "value")
    plot.add_scatter(
        uid="value",
        x=at,
        y=finite(reduction.smooth(frame["value"].to_numpy(dtype=np.float64), smoothing)),
        mode="lines+markers" if len(frame) <= MARKED else "lines",
        line={"color": colour, "width": 2},
        marker={"size": 5},
        name=plain(name),
        hovertemplate="%{y:.4g}",
    )
    clip_constant(plot)
    draw_not_finite(plot, at, frame["value"])
    if robust and np.isfinite(raw).any():
        limit(plot, *reduction.usual(raw))
    if events is not None:
        draw_events(plot, events, x)
    return plot


def _finished(
    plot: go.Figure, x: Axis, usual: Iterable[float] | None, events: pd.DataFrame | None
) -> go.Figure:
    if usual is not None:
        low, high = usual
        limit(plot, low, high)
    label_ends(plot)
    if events is not None:
        draw_events(plot, events, x)
    return plot
