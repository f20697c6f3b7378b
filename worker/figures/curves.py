"""What is drawn along curves: the range of their values, and their names at their ends."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import plotly.graph_objects as go

from ganboard.worker.figures.palette import WORDS

LABELLED = 4  # curves at most, whose names stand at their ends
LONGEST = 18  # characters of such a name
_PIECES = 200  # of a ribbon
_TOUCHING = 0.06  # of the axis: less apart, two lines of words touch


def draw_range(
    plot: go.Figure, at: npt.NDArray[Any], values: npt.NDArray[np.float64], colour: str, uid: str
) -> None:
    """A pale ribbon from the smallest to the largest of the neighbouring `values` ([n], NaN: none)
    over x positions `at` ([n]); on a logarithmic axis of the positive ones."""
    if plot.layout.yaxis.type == "log":
        values = np.where(values > 0, values, np.nan)
    size = max(2, len(values) // _PIECES)
    near = pd.Series(values).rolling(2 * size + 1, center=True, min_periods=1)
    low = near.min().to_numpy()
    high = near.max().to_numpy()
    kept = np.union1d(np.arange(0, len(values), size), np.arange(len(values))[-1:])
    kept = kept[np.isfinite(low[kept])]
    edge: dict[str, Any] = {
        "x": at[kept],
        "mode": "lines",
        "line": {"width": 0, "color": colour},
        "legendgroup": uid,
        "showlegend": False,
        "hoverinfo": "skip",
    }
    plot.add_scatter(uid=f"{uid}-low", y=low[kept], **edge)
    plot.add_scatter(
        uid=f"{uid}-high", y=high[kept], fill="tonexty", fillcolor=f"{colour}38", **edge
    )


def label_ends(plot: go.Figure) -> None:
    """Write the names of up to LABELLED curves at their ends, where they fit without touching; the
    legend stays, for hiding curves."""
    curves = [curve for curve in plot.data if curve.showlegend is not False and curve.name]
    longest = max((len(curve.name) for curve in curves), default=0)
    if not 2 <= len(curves) <= LABELLED or longest > LONGEST:
        return
    known = [np.flatnonzero(np.isfinite(np.asarray(curve.y, np.float64))) for curve in curves]
    if not all(len(places) for places in known):
        return
    heights = np.concatenate([np.asarray(curve.y, np.float64) for curve in curves])
    ends = np.array([curve.y[places[-1]] for curve, places in zip(curves, known, strict=True)])
    if plot.layout.yaxis.type == "log":
        if (ends <= 0).any():
            return
        heights = np.log10(heights[heights > 0])
        ends = np.log10(ends)
    span = plot.layout.yaxis.range or (np.nanmin(heights), np.nanmax(heights))
    order = np.argsort(ends)
    close = np.diff(ends[order]) < _TOUCHING * (span[1] - span[0])
    if (close[1:] & close[:-1]).any():
        return  # three in one place
    sides = np.full(len(curves), "middle right", dtype=object)
    for below in np.flatnonzero(close):
        sides[order[below : below + 2]] = ("bottom right", "top right")
    for curve, places, side in zip(curves, known, sides, strict=True):
        curve.legendgroup = curve.legendgroup or curve.uid  # the legend hides both
        colour = {"color": WORDS[curve.line.color]} if curve.line.color in WORDS else {}
        # of one point: a curve with words has one for each of its 2,000 points
        plot.add_scatter(
            uid=f"{curve.uid}-end",
            x=np.asarray(curve.x)[places[-1:]],
            y=np.asarray(curve.y)[places[-1:]],
            mode="text",
            text=[f" {curve.name}"],
            textposition=side,
            textfont={"size": 13, **colour},
            cliponaxis=False,
            legendgroup=curve.legendgroup,
            showlegend=False,
            hoverinfo="skip",
        )
    plot.update_layout(margin={"r": 16 + 7 * longest})
