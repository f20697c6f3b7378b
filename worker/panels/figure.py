"""The chart of a panel, of one run or of several.

Several expressions of one run differ in colour; those of several runs, whose colours are theirs,
in the dash, which a second legend explains.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go

from ganboard.worker.figures.compare import Series
from ganboard.worker.figures.curves import draw_range
from ganboard.worker.figures.palette import CATEGORICAL, CURVE_DASHES
from ganboard.worker.figures.template import (
    TITLES,
    clip_constant,
    draw_not_finite,
    figure,
    finite,
    plain,
)
from ganboard.worker.panels.board import Panel
from ganboard.worker.panels.points import Points

HEIGHT = 300  # pixels
LARGE = 600  # of full screen
MARKED = 60  # points, up to which each is marked
SPARSE = 8  # points, up to which marks do not hide dashes
KEY = "#8a94a3"  # lines of the legend of dashes
KEY_HEIGHT = 28  # pixels
# axis titles of x
OVER = {
    "step": TITLES["step"],
    "epoch": TITLES["epoch"],
    "images": "Images",
    "seconds": TITLES["training_seconds"],
    "time": TITLES["time"],
}


def of_run(panel: Panel, points: Mapping[str, Points], *, height: int = HEIGHT) -> go.Figure:
    """The panel of one run, whose points are by expression; those without any are left out.
    Smoothed over the range of the values as they are."""
    several = len(panel.curves) > 1
    plot = empty(panel, height, legend=several)
    drawn = [(place, y) for place, y in enumerate(panel.curves) if y in points]
    for place, y in drawn:
        own = points[y]
        colour = CATEGORICAL[place]
        spread = numbered("raw", place)
        if panel.smoothing and panel.x in OVER:
            draw_range(plot, own.x, finite(own.y), colour, spread)
        entry = {"name": plain(y), "legendgroup": spread} if several else {}
        line = {"color": colour, "width": 2}
        plot.add_scatter(uid=numbered("value", place), line=line, **entry, **_curve(panel, own))
    clip_constant(plot)
    for _, y in drawn:  # as it was stored: what an expression cannot say is a gap
        if np.isinf(points[y].y).any():
            draw_not_finite(plot, points[y].x, points[y].y)
            break
    return plot


def of_runs(
    panel: Panel,
    series: list[Series],
    points: Mapping[str, Mapping[str, Points]],
    *,
    height: int = HEIGHT,
) -> go.Figure:
    """The panel of several runs over each other, whose points are by expression and run; those
    without points are left out."""
    plot = empty(panel, height, legend=True)
    listed = set()
    for place, y in enumerate(panel.curves):
        own = points.get(y, {})
        for one in sorted(series, key=lambda one: one.number):
            if one.run_id in own:
                curve = _curve(panel, own[one.run_id])
                curve["hovertemplate"] = under_pointer(panel, curve["hovertemplate"])
                if len(panel.curves) > 1 and len(own[one.run_id].y) > SPARSE:
                    curve["mode"] = "lines"
                plot.add_scatter(
                    uid=numbered(one.run_id, place),
                    line=one.line | dashed(panel, y),
                    **named(panel, y, one.name, one.run_id, first=one.run_id not in listed),
                    **curve,
                )
                listed.add(one.run_id)
    clip_constant(plot)
    explain_dashes(plot, panel, list(points))
    return plot


def dashed(panel: Panel, y: str) -> dict[str, str]:
    """The dash of an expression's lines; that of the run where there is no other expression."""
    return {"dash": CURVE_DASHES[panel.curves.index(y)]} if len(panel.curves) > 1 else {}


def named(panel: Panel, y: str, name: str, group: str, *, first: bool) -> dict[str, Any]:
    """How a curve of a run or group is named: in the legend once, there for all its expressions,
    under the pointer with its own."""
    if len(panel.curves) == 1:
        return {"name": plain(name)}
    return {"name": plain(name), "legendgroup": group, "showlegend": first, "meta": plain(y)}


def under_pointer(panel: Panel, text: str) -> str:
    """The template of what the pointer shows, for curves that are `named`."""
    return (
        text if len(panel.curves) == 1 else f"{text}<extra>%{{fullData.name}} · %{{meta}}</extra>"
    )


def explain_dashes(plot: go.Figure, panel: Panel, drawn: Sequence[str]) -> None:
    """A legend below the chart of the expressions that are `drawn`, if the panel has several."""
    if len(panel.curves) == 1:
        return
    for place, y in enumerate(panel.curves):
        if y in drawn:
            plot.add_scatter(
                uid=f"key-{place}",
                x=[None],
                y=[None],
                mode="lines",
                line={"color": KEY, "width": 2, **dashed(panel, y)},
                name=plain(y),
                legend="legend2",
                hoverinfo="skip",
            )
    below = {"orientation": "h", "x": 0, "y": 0, "yref": "container", "yanchor": "bottom"}
    # its entries stand for curves of many runs: a click could hide none of them
    plot.update_layout(
        legend2={**below, "itemclick": False, "itemdoubleclick": False},
        margin={"b": 44 + KEY_HEIGHT},
    )


def numbered(uid: str, place: int) -> str:
    """The identity of a curve, which stays as it is when expressions are added."""
    return f"{uid}-{place}" if place else uid


def empty(panel: Panel, height: int, *, legend: bool) -> go.Figure:
    """The panel with its axes and no curves."""
    date = panel.x == "time"
    across = {
        "title": {"text": OVER.get(panel.x) or plain(panel.x)},
        "type": "date" if date else "log" if panel.log_x else "linear",
    }
    # of several the legend has the names
    title = {"text": plain(panel.curves[0])} if len(panel.curves) == 1 else {}
    metric = panel.x not in OVER
    return figure(
        height=height,
        xaxis=across,
        yaxis={"title": title, "type": "log" if panel.log_y else "linear"},
        showlegend=legend,
        margin={"t": 12},
        hovermode="closest" if metric else "x unified",
    )


def _curve(panel: Panel, points: Points) -> dict[str, Any]:
    """A line over an axis; against another metric with its points, in the order of steps."""
    over = panel.x in OVER
    text = "%{y:.4g}" if over else "%{x:.4g}, %{y:.4g} at step %{customdata:.0f}"
    return {
        "x": points.x if panel.x == "time" else finite(points.x),
        "y": finite(points.smooth),
        "mode": "lines+markers" if len(points.y) <= MARKED or not over else "lines",
        "marker": {"size": 5},
        "customdata": points.steps,
        "hovertemplate": text,
    }
