"""Groups of runs as their mean with a band around it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from ganboard.worker.figures.palette import CATEGORICAL, DASHES
from ganboard.worker.figures.template import Axis, along, course, finite, plain

POINTS = 500  # of a mean
HOVER = "%{y:.4g} (%{customdata[0]:.4g} to %{customdata[1]:.4g}, %{customdata[2]} runs)"
Spread = Literal["range", "error"]  # from min to max, or the standard error on either side


def mean(frames: Sequence[pd.DataFrame], x: Axis, column: str, spread: Spread) -> pd.DataFrame:
    """Columns x, mean, low, high and runs, their number there: the mean of a `column` over runs.

    Where a run has no value of its own it is interpolated between its neighbours, and before its
    first and after its last value it does not count. The standard error of one run is 0. No times:
    those of different runs have no mean.
    """
    curves = []
    for frame in frames:
        at, values = finite(along(frame, x)), finite(frame[column])
        known = np.isfinite(at) & np.isfinite(values)
        curves.append((at[known], values[known]))
    places = np.unique(np.concatenate([np.zeros(0), *(at for at, _ in curves)]))
    if not len(places):
        return pd.DataFrame({name: [] for name in ("x", "mean", "low", "high", "runs")})
    if len(places) > POINTS:
        places = np.linspace(places[0], places[-1], POINTS)
    values = np.full((len(curves), len(places)), np.nan)
    for row, (at, own) in enumerate(curves):
        if len(at):
            values[row] = np.interp(places, at, own, left=np.nan, right=np.nan)
    runs = np.isfinite(values).sum(axis=0)
    places, values, runs = places[runs > 0], values[:, runs > 0], runs[runs > 0]
    average = np.nanmean(values, axis=0)
    if spread == "range":
        low, high = np.nanmin(values, axis=0), np.nanmax(values, axis=0)
    else:
        # of n runs: the deviation with n - 1 in its denominator, over the root of n
        squares = np.nansum((values - average) ** 2, axis=0)
        error = np.sqrt(squares / np.maximum(runs - 1, 1) / runs)
        low, high = average - error, average + error
    return pd.DataFrame({"x": places, "mean": average, "low": low, "high": high, "runs": runs})


def figure(
    groups: Mapping[str, Sequence[pd.DataFrame]],
    *,
    column: str,
    x: Axis,
    title: str,
    spread: Spread,
    log_x: bool = False,
    log_y: bool = False,
) -> go.Figure:
    """The mean of each group, by its name, with its band; the legend says how many runs it has."""
    plot = course(x, title, log_x=log_x, log_y=log_y, height=360, showlegend=True)
    for place, (name, frames) in enumerate(groups.items()):
        uid = f"group-{place}"  # Plotly selects by it: no words of a person
        draw(
            plot,
            mean(frames, x, column, spread),
            place,
            uid=uid,
            legendgroup=uid,
            name=plain(counted(name, len(frames))),
        )
    return plot


def draw(
    plot: go.Figure, band: pd.DataFrame, place: int, *, uid: str, dash: str = "", **curve: Any
) -> None:
    """The `mean` of the group in this place with its band; `curve` goes to the trace of the mean.
    The dash is the group's own unless one is given."""
    colour = CATEGORICAL[place % len(CATEGORICAL)]
    own = {"x": band["x"].to_numpy(), "mode": "lines", "legendgroup": curve["legendgroup"]}
    edge = {**own, "line": {"width": 0}, "showlegend": False, "hoverinfo": "skip"}
    plot.add_scatter(uid=f"{uid}-low", y=band["low"].to_numpy(), **edge)
    plot.add_scatter(
        uid=f"{uid}-high",
        y=band["high"].to_numpy(),
        fill="tonexty",
        fillcolor=f"rgba({_rgb(colour)}, 0.18)",
        **edge,
    )
    usual = DASHES[place // len(CATEGORICAL) % len(DASHES)]
    shown = {"hovertemplate": HOVER, "line": {"color": colour, "width": 2, "dash": dash or usual}}
    plot.add_scatter(
        uid=uid,
        y=band["mean"].to_numpy(),
        customdata=band[["low", "high", "runs"]].to_numpy(),
        **(own | shown | curve),
    )


def counted(name: str, runs: int) -> str:
    """The name of a group with its number of runs."""
    return f"{name} ({runs} run{'s' if runs != 1 else ''})"


def _rgb(colour: str) -> str:
    """#0a64e1 -> "10, 100, 225"."""
    return ", ".join(str(int(colour[at : at + 2], 16)) for at in (1, 3, 5))
