"""A metric that a script logged, over the course of its run."""

from __future__ import annotations

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from ganboard.db.runs import reduction
from ganboard.worker.figures.palette import CATEGORICAL
from ganboard.worker.figures.template import (
    Axis,
    along,
    course,
    draw_events,
    draw_not_finite,
    finite,
    limit,
    plain,
)

HEIGHT = 280
MARKED = 60  # points, up to which each is marked


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
    """Values of a metric from `db.runs.logged.frame`; smoothed over the points that are drawn, with
    the raw ones pale behind.

    `robust` lets the y axis show the 1st to 99th percentile; `events` are those of
    `db.runs.series.events_frame`.
    """
    title = {"title": {"text": plain(name)}, "margin": {"t": 40}}
    plot = course(x, "", log_x=log_x, log_y=log_y, height=HEIGHT, showlegend=False, **title)
    at = along(frame, x)
    raw = finite(frame["value"])
    colour = CATEGORICAL[0]
    if smoothing > 0:
        pale = {"color": colour, "width": 1}
        plot.add_scatter(
            uid="raw", x=at, y=raw, mode="lines", line=pale, opacity=0.3, hoverinfo="skip"
        )
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
    draw_not_finite(plot, at, frame["value"])
    if robust and np.isfinite(raw).any():
        limit(plot, *reduction.usual(raw))
    if events is not None:
        draw_events(plot, events, x)
    return plot
