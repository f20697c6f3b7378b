"""The chart of a panel, of one run or of several."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import plotly.graph_objects as go

from ganboard.worker.figures.compare import Series
from ganboard.worker.figures.curves import draw_range
from ganboard.worker.figures.palette import CATEGORICAL
from ganboard.worker.figures.template import TITLES, draw_not_finite, figure, finite, plain
from ganboard.worker.panels.board import Panel
from ganboard.worker.panels.points import Points

HEIGHT = 300  # pixels
LARGE = 600  # of full screen
MARKED = 60  # points, up to which each is marked
# axis titles of x
OVER = {
    "step": TITLES["step"],
    "epoch": TITLES["epoch"],
    "images": "Images",
    "seconds": TITLES["training_seconds"],
    "time": TITLES["time"],
}


def of_run(panel: Panel, points: Points, *, height: int = HEIGHT) -> go.Figure:
    """The panel of one run; smoothed over the range of the values as they are."""
    plot = _empty(panel, height, legend=False)
    colour = CATEGORICAL[0]
    if panel.smoothing and panel.x in OVER:
        draw_range(plot, points.x, finite(points.y), colour, "raw")
    plot.add_scatter(uid="value", line={"color": colour, "width": 2}, **_curve(panel, points))
    if np.isinf(points.y).any():  # as it was stored: what an expression cannot say is a gap
        draw_not_finite(plot, points.x, points.y)
    return plot


def of_runs(
    panel: Panel, series: list[Series], points: Mapping[str, Points], *, height: int = HEIGHT
) -> go.Figure:
    """The panel of several runs over each other; those without points are left out."""
    plot = _empty(panel, height, legend=True)
    for one in sorted(series, key=lambda one: one.number):
        if one.run_id in points:
            curve = _curve(panel, points[one.run_id])
            plot.add_scatter(uid=one.run_id, line=one.line, name=plain(one.name), **curve)
    return plot


def _empty(panel: Panel, height: int, *, legend: bool) -> go.Figure:
    date = panel.x == "time"
    across = {
        "title": {"text": OVER.get(panel.x) or plain(panel.x)},
        "type": "date" if date else "log" if panel.log_x else "linear",
    }
    up = {"title": {"text": plain(panel.y)}, "type": "log" if panel.log_y else "linear"}
    metric = panel.x not in OVER
    return figure(
        height=height,
        xaxis=across,
        yaxis=up,
        showlegend=legend,
        margin={"t": 12},
        hovermode="closest" if metric else "x unified",
    )


def _curve(panel: Panel, points: Points) -> dict[str, Any]:
    """A line over an axis; against another metric with its points, in the order of steps."""
    over = panel.x in OVER
    return {
        "x": points.x if panel.x == "time" else finite(points.x),
        "y": finite(points.smooth),
        "mode": "lines+markers" if len(points.y) <= MARKED or not over else "lines",
        "marker": {"size": 5},
        "customdata": points.steps,
        "hovertemplate": "%{y:.4g}" if over else "%{x:.4g}, %{y:.4g} at step %{customdata:.0f}",
    }
