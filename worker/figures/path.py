"""The descent path: where training carried the weights, seen in a fixed random plane, with the loss
as height."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
import pandas as pd
import plotly.graph_objects as go

from ganboard.worker.figures.template import CAMERA, NETS, figure, finite, thin

_STEPS = (1.0, 1.5, 2.0, 3.0, 5.0, 7.5, 10.0)


def ceiling(value: float) -> float:
    """The smallest of 1, 1.5, 2, 3, 5, 7.5, 10 times a power of ten that is not below `value` > 0;
    0 for 0.

    Axes that end there grow seldom, and in steps, while a path grows.
    """
    if value <= 0:
        return 0.0
    power = 10.0 ** math.floor(math.log10(value))
    return next((step * power for step in _STEPS if step * power >= value), 10 * power)


def extent(values: npt.NDArray[np.float64]) -> list[float]:
    """A range that holds zero and all finite `values`, and grows in steps as they do."""
    known = values[np.isfinite(values)]
    low, high = (
        ceiling(-min(0.0, known.min(initial=0.0))),
        ceiling(max(0.0, known.max(initial=0.0))),
    )
    if low == high == 0:
        return [-1.0, 1.0]
    margin = 0.05 * (low + high)
    return [-low - margin, high + margin]


def descent(frame: pd.DataFrame, *, net: str, dimensions: int = 3) -> go.Figure:
    """The path of one network ("g" or "d") over the epochs of `db.curves.series.epochs_frame`.

    x and y: two seeded random projections of the weights minus their initial value, so the path
    begins at the origin; z, or the colour in two dimensions: the mean loss of the epoch.
    """
    _, name, colour = next(entry for entry in NETS if entry[0] == net)
    rows = thin(frame, 500)
    x, y, loss = (finite(rows[column]) for column in (f"{net}_x", f"{net}_y", f"{net}_loss"))
    epochs = rows["epoch"].to_numpy(dtype=np.float64)
    build = _in_space if dimensions == 3 else _in_plane
    return build(name, colour, epochs, x, y, loss)


_ENDS = ((slice(0, 1), "circle-open", "First epoch"), (slice(-1, None), "diamond", "Newest epoch"))


def _in_space(
    name: str,
    colour: str,
    epochs: npt.NDArray[np.float64],
    x: npt.NDArray[np.float64],
    y: npt.NDArray[np.float64],
    loss: npt.NDArray[np.float64],
) -> go.Figure:
    plot = figure(
        height=480,
        hovermode="closest",
        dragmode="turntable",
        margin={"l": 0, "r": 0, "t": 30, "b": 0},
        scene={
            "aspectmode": "cube",
            "camera": CAMERA,
            "xaxis": {"title": {"text": "Projection 1"}, "range": extent(x), "autorange": False},
            "yaxis": {"title": {"text": "Projection 2"}, "range": extent(y), "autorange": False},
            "zaxis": {"title": {"text": "Loss"}, "range": extent(loss), "autorange": False},
        },
    )
    hover = "Epoch %{customdata}<br>loss %{z:.4f}<extra></extra>"
    plot.add_scatter3d(
        uid="path",
        x=x,
        y=y,
        z=loss,
        customdata=epochs,
        mode="lines+markers",
        name=name,
        line={"color": colour, "width": 5},
        marker={"size": 2.5, "color": colour},
        hovertemplate=hover,
    )
    for where, symbol, label in _ENDS:
        plot.add_scatter3d(
            uid=label,
            x=x[where],
            y=y[where],
            z=loss[where],
            customdata=epochs[where],
            mode="markers",
            name=label,
            marker={"size": 6, "symbol": symbol, "color": colour},
            hovertemplate=hover,
        )
    return plot


def _in_plane(
    name: str,
    colour: str,
    epochs: npt.NDArray[np.float64],
    x: npt.NDArray[np.float64],
    y: npt.NDArray[np.float64],
    loss: npt.NDArray[np.float64],
) -> go.Figure:
    plot = figure(
        height=480,
        hovermode="closest",
        xaxis={"title": {"text": "Projection 1"}, "range": extent(x), "autorange": False},
        yaxis={"title": {"text": "Projection 2"}, "range": extent(y), "autorange": False},
    )
    hover = "Epoch %{customdata}<br>loss %{text}<extra></extra>"
    text = [f"{value:.4f}" for value in loss]
    plot.add_scatter(
        uid="path",
        x=x,
        y=y,
        customdata=epochs,
        text=text,
        mode="lines+markers",
        name=name,
        line={"color": colour, "width": 2},
        marker={
            "size": 7,
            "color": loss,
            "colorscale": "Viridis",
            "colorbar": {
                "title": {"text": "Loss", "side": "right"},
                "thickness": 12,
                "outlinewidth": 0,
            },
        },
        hovertemplate=hover,
    )
    for where, symbol, label in _ENDS:
        plot.add_scatter(
            uid=label,
            x=x[where],
            y=y[where],
            customdata=epochs[where],
            text=text[where],
            mode="markers",
            name=label,
            marker={
                "size": 13,
                "symbol": symbol,
                "color": colour,
                "line": {"width": 2, "color": colour},
            },
            hovertemplate=hover,
        )
    return plot
