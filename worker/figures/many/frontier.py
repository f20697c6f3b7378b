"""What quality costs: every run as a dot of cost and metric, and the front of those that none is
cheaper and better than."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import plotly.graph_objects as go

from ganboard.worker.figures.palette import CATEGORICAL
from ganboard.worker.figures.template import MISSING, figure, finite, plain

MAX_SVG = 2000  # points; more are drawn with WebGL
# one for each colour, so that no group is told by its colour alone
SYMBOLS = ("circle", "square", "diamond", "triangle-up", "cross", "x", "star", "triangle-down")
DOTS = {200: (9, 0.85), MAX_SVG: (6, 0.6), math.inf: (4, 0.35)}  # size and opacity of so many
OTHERS = "#8a94a3"  # of groups beyond the colours
FRONT = "#8a94a3"
# where the browser finds the images of a dot, from its customdata; see live_plotly.js
PICTURE = "/api/runs/{0}/grids/{1}.png"


def front(x: Any, y: Any, *, lower: bool = True) -> npt.NDArray[np.intp]:
    """Positions of the points that no other is at most as expensive as and at least as good as, in
    ascending order of `x`, the cost. Of equal points it is the first.

    `lower` values of `y` are better, or else higher ones. What is not finite has no place on it.
    """
    cost, value = finite(x), finite(y) if lower else -finite(y)
    known = np.flatnonzero(np.isfinite(cost) & np.isfinite(value))
    order = known[np.lexsort((value[known], cost[known]))]
    before = np.concatenate(([np.inf], np.minimum.accumulate(value[order])))[:-1]
    return order[value[order] < before]


def scatter(
    points: pd.DataFrame,
    *,
    x: str,
    y: str,
    unit: str = "",
    lower: bool = True,
    goal: float | None = None,
    groups: Sequence[str] = (),
    courses: bool = False,
    chosen: tuple[str, int] | None = None,
    log_x: bool = False,
    log_y: bool = False,
) -> go.Figure:
    """A dot for the best evaluation of each run, and the front over all evaluations.

    `points` has a row for each evaluation that was the best of its run so far, ordered by run and
    epoch: run_id, epoch, x (the cost), y (the metric), text (HTML), settings (HTML that follows it,
    as categories), group, grid (the epoch of its images, -1 without any), best (whether it is the
    run's last such row). `x` and `y` name the axes, `unit` follows the cost on hover. Groups have
    colours in the order of `groups`; `courses` draws the way to each dot, `goal` a line, `chosen` a
    ring around the evaluation of this run and epoch.
    """
    plot = figure(
        height=480,
        hovermode="closest",
        showlegend=True,
        xaxis={"title": {"text": x}, "type": "log" if log_x else "linear"},
        yaxis={"title": {"text": y}, "type": "log" if log_y else "linear"},
        meta={"picture": PICTURE},
    )
    hover = f"%{{text}}<br>{plain(y)} %{{y:.4g}} · %{{x:,.4~r}}{unit}<extra></extra>"
    dots = points[points["best"]]
    # all in one way: what is drawn with WebGL covers what is not
    drawn = len(points if courses else dots)
    add = plot.add_scattergl if drawn > MAX_SVG else plot.add_scatter
    if courses:
        _courses(add, points)
    size, opacity = next(look for count, look in DOTS.items() if len(dots) <= count)
    for place, group in enumerate(groups or ("",)):  # Plotly selects by uid: no words of a person
        own = dots[dots["group"] == group] if groups else dots
        style = {
            "color": CATEGORICAL[place] if place < len(CATEGORICAL) else OTHERS,
            "symbol": SYMBOLS[place % len(SYMBOLS)],
            "size": size,
            "opacity": opacity,
        }
        name = plain(group) or "Best of each run"
        add(uid=f"runs-{place}", mode="markers", marker=style, name=name, **_at(own, hover))
    best = points.iloc[front(points["x"], points["y"], lower=lower)]
    _front(add, best, points, hover)
    if goal is not None and len(points):
        add(
            uid="goal",
            x=[float(points["x"].min()), float(points["x"].max())],
            y=[goal, goal],
            mode="lines",
            line={"color": MISSING, "width": 1.5, "dash": "dash"},
            name=f"Target {goal:g}",
            hoverinfo="skip",
        )
    if chosen is not None:
        run_id, epoch = chosen
        ring = points[(points["run_id"] == run_id) & (points["epoch"] == epoch)]
        marker = {"color": "rgba(0,0,0,0)", "size": 18, "line": {"color": MISSING, "width": 2}}
        add(
            uid="chosen",
            x=finite(ring["x"]),
            y=finite(ring["y"]),
            mode="markers",
            marker=marker,
            showlegend=False,
            hoverinfo="skip",
        )
    return plot


def _at(points: pd.DataFrame, hover: str) -> dict[str, Any]:
    """Where dots are, what they say on hover, and what a click on them names. Many runs have the
    same settings: the browser appends to each text what its last number stands for in `meta`."""
    settings = points["settings"].cat.remove_unused_categories()
    named = [points[column].tolist() for column in ("run_id", "grid", "epoch")]
    return {
        "x": finite(points["x"]),
        "y": finite(points["y"]),
        "text": points["text"].tolist(),
        "meta": settings.cat.categories.tolist(),
        "customdata": list(zip(*named, settings.cat.codes.tolist(), strict=True)),
        "hovertemplate": hover,
    }


def _courses(add: Any, points: pd.DataFrame) -> None:
    """All courses as one trace, with a gap between runs."""
    starts = np.flatnonzero(points["run_id"].to_numpy()[1:] != points["run_id"].to_numpy()[:-1]) + 1
    add(
        uid="courses",
        x=np.insert(finite(points["x"]), starts, np.nan),
        y=np.insert(finite(points["y"]), starts, np.nan),
        mode="lines",
        line={"color": OTHERS, "width": 1, "shape": "hv"},
        opacity=0.35,
        name="Courses",
        hoverinfo="skip",
    )


def _front(add: Any, best: pd.DataFrame, points: pd.DataFrame, hover: str) -> None:
    """The front as steps to the most expensive dot, and the evaluations that it consists of."""
    if best.empty:
        return
    line = {"color": FRONT, "width": 2, "shape": "hv"}
    add(
        uid="front",
        x=np.append(finite(best["x"]), float(points["x"].max())),
        y=np.append(finite(best["y"]), float(best["y"].iloc[-1])),
        mode="lines",
        line=line,
        name="Front",
        legendgroup="front",
        hoverinfo="skip",
    )
    ring = {"color": FRONT, "size": 6, "symbol": "circle-open", "line": {"width": 1.5}}
    add(
        uid="front-runs",
        mode="markers",
        marker=ring,
        showlegend=False,
        legendgroup="front",
        **_at(best, hover),
    )
