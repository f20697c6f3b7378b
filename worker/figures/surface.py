"""Loss surfaces with the paths of runs, from the arrays of `gan.landscape.compute.compute`, and how
far each path was from its end."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from ganboard.worker.figures.palette import CATEGORICAL, run_colour
from ganboard.worker.figures.template import CAMERA, NETS, figure, finite, plain

Arrays = Mapping[str, npt.NDArray[Any]]
_AXES = {
    "principal": ("1st principal direction", "2nd principal direction"),
    "random": ("1st random direction", "2nd random direction"),
}
RUN, EPOCH, X, Y, LOSS, RADIUS = range(6)  # columns of a path


def landscape(
    arrays: Arrays,
    *,
    net: str,
    plane: str,
    names: Sequence[str],
    numbers: Sequence[int],
    dimensions: int,
) -> go.Figure:
    """The surface of one net ("g" or "d") as contours or in space; a path for each run, by its name
    and number, which gives its colour."""
    xs, ys, losses = (finite(arrays[f"{net}.{part}"]) for part in ("x", "y", "surface"))
    across, along = _AXES[plane]
    bar = {"title": {"text": "Loss", "side": "right"}, "thickness": 12, "outlinewidth": 0}
    style = {"colorscale": "Viridis", "colorbar": bar}
    if dimensions == 3:
        scene = {
            "camera": CAMERA,
            "aspectmode": "cube",
            **{
                f"{k}axis": {"title": {"text": t}}
                for k, t in zip("xyz", (across, along, "Loss"), strict=True)
            },
        }
        plot = figure(
            height=520,
            hovermode="closest",
            dragmode="turntable",
            margin={"l": 0, "r": 0, "t": 30, "b": 0},
            scene=scene,
        )
        plot.add_surface(
            uid="surface",
            x=xs,
            y=ys,
            z=losses,
            opacity=0.85,
            hovertemplate="loss %{z:.4f}<extra></extra>",
            **style,
        )
    else:
        plot = figure(
            height=480,
            hovermode="closest",
            xaxis={"title": {"text": across}},
            yaxis={"title": {"text": along}},
        )
        plot.add_contour(
            uid="surface",
            x=xs,
            y=ys,
            z=losses,
            hovertemplate="loss %{z:.4f}<extra></extra>",
            **_levels(arrays, net),
            **style,
        )
    for run, (name, number) in enumerate(zip(names, numbers, strict=True)):
        _path(plot, arrays[f"{net}.path"], run, plain(name), run_colour(number), dimensions)
    return plot


def _levels(arrays: Arrays, net: str) -> dict[str, Any]:
    """Contours where the paths lie: from the lowest loss to the highest of a path, or to the upper
    quartile of the grid if that is more.

    Far from the paths losses can be a hundred times as large, and would leave one colour for all
    that matters.
    """
    losses = finite(arrays[f"{net}.surface"])
    if np.isnan(losses).all():
        return {}
    low = float(np.nanmin(losses))
    high = max(
        float(np.nanquantile(losses, 0.75)),
        float(np.nanmax(finite(arrays[f"{net}.path"][:, LOSS]), initial=low)),
    )
    return {
        "autocontour": False,
        "contours": {"start": low, "end": high, "size": (high - low) / 24 or 1.0},
        "zmin": low,
        "zmax": high,
    }


def _path(
    plot: go.Figure,
    path: npt.NDArray[np.float64],
    run: int,
    name: str,
    colour: str,
    dimensions: int,
) -> None:
    rows = path[path[:, RUN] == run]
    common = {
        "uid": f"path-{run}",
        "x": rows[:, X],
        "y": rows[:, Y],
        "name": name,
        "mode": "lines+markers",
        "customdata": np.stack([rows[:, EPOCH], rows[:, LOSS]], 1),
        "hovertemplate": "Epoch %{customdata[0]}<br>loss %{customdata[1]:.4f}",
    }
    ends = ["circle-open", *["circle"] * (len(rows) - 2), "diamond"]
    if dimensions == 3:
        plot.add_scatter3d(
            z=rows[:, LOSS],
            line={"color": colour, "width": 6},
            marker={"size": 4, "color": colour, "symbol": ends},
            **common,
        )
    else:
        halo = {"color": "white", "width": 1.5}
        plot.add_scatter(
            line={"color": colour, "width": 2.5},
            marker={"size": 9, "color": colour, "symbol": ends, "line": halo},
            **common,
        )


def radius(arrays: Arrays, *, names: Sequence[str], numbers: Sequence[int]) -> go.Figure:
    """Distance from the last point over the epochs, in the space of all weights: solid for G,
    dashed for D."""
    plot = figure(
        xaxis={"title": {"text": "Epoch"}},
        yaxis={"title": {"text": "Distance from the end"}, "rangemode": "tozero"},
    )
    for run, (name, number) in enumerate(zip(names, numbers, strict=True)):
        for (net, word, _), dash in zip(NETS, ("solid", "dash"), strict=True):
            rows = arrays[f"{net}.path"][arrays[f"{net}.path"][:, RUN] == run]
            plot.add_scatter(
                uid=f"{net}-{run}",
                x=rows[:, EPOCH],
                y=rows[:, RADIUS],
                name=f"{plain(name)}, {word}",
                mode="lines+markers",
                line={"color": run_colour(number), "width": 2, "dash": dash},
                hovertemplate="%{y:.4g}",
            )
    return plot


def side_by_side(arrays: Arrays, names: Sequence[str]) -> go.Figure:
    """Contours with the paths of G and of D, and the radii, in one figure; colours as they come."""
    plot = make_subplots(
        1,
        3,
        subplot_titles=("Generator", "Discriminator", "Distance from the end"),
        horizontal_spacing=0.07,
    )
    plot.update_layout(
        height=440,
        template=None,
        hovermode="closest",
        margin={"t": 90},
        legend={"orientation": "h", "y": 1.12, "yanchor": "bottom"},
    )
    for column, (net, _, _) in enumerate(NETS, 1):
        xs, ys, losses = (finite(arrays[f"{net}.{part}"]) for part in ("x", "y", "surface"))
        style = {
            "colorscale": "Viridis",
            "showscale": False,
            "hovertemplate": "loss %{z:.4f}<extra></extra>",
            **_levels(arrays, net),
        }
        plot.add_contour(x=xs, y=ys, z=losses, row=1, col=column, **style)
        for run, (name, colour) in enumerate(zip(names, CATEGORICAL * 4, strict=False)):
            rows = arrays[f"{net}.path"][arrays[f"{net}.path"][:, RUN] == run]
            common = {
                "name": plain(name),
                "legendgroup": run,
                "mode": "lines+markers",
                "hovertemplate": f"{plain(name)}<br>epoch %{{customdata}}",
            }
            common |= {
                "line": {"color": colour, "width": 2, "dash": "solid" if net == "g" else "dash"},
                "customdata": rows[:, EPOCH],
            }
            plot.add_scatter(
                x=rows[:, X], y=rows[:, Y], showlegend=net == "g", row=1, col=column, **common
            )
            plot.add_scatter(
                x=rows[:, EPOCH], y=rows[:, RADIUS], showlegend=False, row=1, col=3, **common
            )
    plot.update_xaxes(title_text="Epoch", row=1, col=3)
    plot.update_yaxes(rangemode="tozero", row=1, col=3)
    return plot
