"""The common style of all figures, light and dark, and how text and numbers get into them
safely."""

from __future__ import annotations

import math
from textwrap import wrap
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pandas as pd
import plotly.graph_objects as go

from ganboard.worker.figures.palette import CATEGORICAL, DISCRIMINATOR, GENERATOR, SEQUENTIAL

HEIGHT = 400  # pixels
NETS = (("g", "Generator", GENERATOR), ("d", "Discriminator", DISCRIMINATOR))
MISSING = "#d64545"  # marks losses that are not finite
# of all scenes: far enough, and looking low enough, for the titles below the cube
CAMERA = {"eye": {"x": 1.7, "y": -1.7, "z": 0.8}, "center": {"x": 0.0, "y": 0.0, "z": -0.2}}
Axis = Literal["step", "epoch", "training_seconds", "time"]
AXES: dict[Axis, str] = {
    "step": "Step",
    "epoch": "Epoch",
    "training_seconds": "Training seconds",
    "time": "Time (UTC)",
}
# as titles, with units; an address has the words of AXES
TITLES: dict[Axis, str] = {**AXES, "training_seconds": "Training time (s)"}
# the worst first
LEVELS = (
    ("error", "Errors", MISSING),
    ("warning", "Warnings", "#d98200"),
    ("info", "Events", "#8a94a3"),
)
_FONT = "'Source Sans', 'Source Sans Pro', sans-serif"


def _template(
    *, text: str, muted: str, grid: str, ground: str, density: tuple[str, ...]
) -> go.layout.Template:
    axis = {
        "gridcolor": grid,
        "linecolor": grid,
        "zerolinecolor": grid,
        "tickcolor": grid,
        "tickfont": {"color": muted, "size": 12},
        "title": {"font": {"color": muted, "size": 13}, "standoff": 8},
        "automargin": True,
    }
    space = {
        **axis,
        "backgroundcolor": "rgba(0,0,0,0)",
        "showbackground": False,
        "showspikes": False,
    }
    del space["automargin"]
    space["title"] = {"font": {"color": muted, "size": 12}}
    return go.layout.Template(
        layout={
            "font": {"family": _FONT, "size": 13, "color": text},
            "colorway": list(CATEGORICAL),
            "colorscale": {
                "sequential": [[i / (len(density) - 1), colour] for i, colour in enumerate(density)]
            },
            "paper_bgcolor": "rgba(0,0,0,0)",
            "plot_bgcolor": "rgba(0,0,0,0)",
            "margin": {"l": 56, "r": 16, "t": 36, "b": 44},
            "legend": {
                "orientation": "h",
                "x": 0,
                "y": 1.02,
                "yanchor": "bottom",
                "font": {"color": text, "size": 13},
            },
            "hoverlabel": {
                "bgcolor": ground,
                "bordercolor": grid,
                "font": {"family": _FONT, "size": 13, "color": text},
            },
            "modebar": {
                "bgcolor": "rgba(0,0,0,0)",
                "color": muted,
                "activecolor": text,
                "orientation": "h",
            },
            "xaxis": axis,
            "yaxis": axis,
            "scene": {"xaxis": space, "yaxis": space, "zaxis": space},
            "coloraxis": {"colorbar": {"tickfont": {"color": muted}, "outlinewidth": 0}},
            "annotationdefaults": {"font": {"color": muted, "size": 12}},
        }
    )


TEMPLATES = {
    "light": _template(
        text="#1b2430", muted="#566273", grid="#e6eaef", ground="#ffffff", density=SEQUENTIAL[2:]
    ),
    "dark": _template(
        text="#e4e9ef",
        muted="#9aa7b5",
        grid="#26303b",
        ground="#19212b",
        density=SEQUENTIAL[-2::-1],
    ),
}


def figure(*, height: int = HEIGHT, **layout: Any) -> go.Figure:
    """An empty figure with the common settings; the viewer chooses the template."""
    return go.Figure(
        layout={
            "height": height,
            "template": None,
            "hovermode": "x unified",
            "dragmode": "zoom",
            **layout,
        }
    )


def plain(text: str) -> str:
    """`text` so that Plotly, which reads a small HTML in every label, shows it literally and on one
    line."""
    shown = " ".join(text.split()).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return text if shown == text else shown  # the same object: of ten thousand names 0.6 MB


def finite(values: Any) -> npt.NDArray[np.float64]:
    """`values` as float64 with NaN, which Plotly draws as a gap, for all that is not finite."""
    array = np.asarray(values, dtype=np.float64)
    return np.where(np.isfinite(array), array, np.nan)


def course(
    x: Axis, y: str, *, log_x: bool = False, log_y: bool = False, **layout: Any
) -> go.Figure:
    """An empty figure over the course of a run; no axis of time is ever logarithmic."""
    across = {
        "title": {"text": TITLES[x]},
        "type": "date" if x == "time" else "log" if log_x else "linear",
    }
    return figure(
        xaxis=across, yaxis={"title": {"text": y}, "type": "log" if log_y else "linear"}, **layout
    )


def along(frame: pd.DataFrame, x: Axis) -> npt.NDArray[Any]:
    """The column `x` as Plotly takes it: float64, or UTC times to the millisecond."""
    values: npt.NDArray[Any] = frame[x].to_numpy(
        dtype="datetime64[ms]" if x == "time" else np.float64
    )
    return values


def limit(plot: go.Figure, low: float, high: float) -> None:
    """Let the y axis span `low` to `high` and a twentieth more on either side; on a logarithmic
    axis only if both are positive."""
    if plot.layout.yaxis.type == "log":
        if low <= 0 or high <= 0:
            return
        low, high = math.log10(low), math.log10(high)
    margin = 0.05 * (high - low) or 0.5
    plot.update_yaxes(
        range=[low - margin, high + margin], autorange=False, selector={"overlaying": None}
    )


def clip_constant(plot: go.Figure) -> None:
    """Let a linear y axis span zero to twice the value where all curves have a single one near
    it: Plotly's own is the value plus and minus one."""
    drawn = np.hstack([np.nan, *(finite(trace.y) for trace in plot.data if trace.y is not None)])
    values = np.unique(drawn[np.isfinite(drawn)])
    if len(values) == 1 and values[0] and plot.layout.yaxis.type != "log":
        low, high = sorted((0.0, 2 * float(values[0])))
        plot.update_yaxes(autorangeoptions={"clipmin": low, "clipmax": high})


def draw_not_finite(plot: go.Figure, x: Any, *series: Any) -> None:
    """A line and a word at the first x where one of the `series` is not finite."""
    broken = ~np.logical_and.reduce(
        [np.isfinite(np.asarray(values, dtype=np.float64)) for values in series]
    )
    if broken.any():
        first = _scalar(np.asarray(x)[broken.argmax()])
        plot.add_shape(
            type="line",
            x0=first,
            x1=first,
            y0=0,
            y1=1,
            yref="paper",
            line={"color": MISSING, "width": 1, "dash": "dash"},
        )
        # annotations count otherwise than shapes do
        at = math.log10(first) if plot.layout.xaxis.type == "log" else first
        plot.add_annotation(
            x=at,
            y=1,
            yref="paper",
            yanchor="top",
            xanchor="right",
            showarrow=False,
            font={"color": MISSING},
            text="NaN or ∞ from here ",
        )


def draw_events(plot: go.Figure, events: pd.DataFrame, x: Axis) -> None:
    """A thin line for each event, with its text on hover; `events` is
    `db.curves.series.events_frame`.

    Events within a 200th of the axis share a line, which has the colour of the worst of them.
    """
    if events.empty:
        return
    order = np.argsort(along(events, x), kind="stable")
    at, levels, texts = (
        along(events, x)[order],
        events["level"].to_numpy()[order],
        events["text"].to_numpy()[order],
    )
    place = at.astype(np.float64)
    ends = [
        np.asarray(trace.x)[[0, -1]].astype(at.dtype).astype(np.float64)
        for trace in plot.data
        if len(trace.x)
    ]
    span = np.ptp(np.concatenate([place, *ends]))
    groups = np.split(np.arange(len(at)), np.flatnonzero(np.diff(place) > span / 200) + 1)
    for level, name, colour in LEVELS:
        lines = [group for group in groups if _worst(levels[group]) == level]
        if not lines:
            continue
        plot.add_scatter(
            uid=f"events-{level}",
            x=[
                value
                for group in lines
                for value in (_scalar(at[group[0]]), _scalar(at[group[0]]), None)
            ],
            y=[0, 1, None] * len(lines),
            yaxis="y2",
            mode="lines",
            line={"color": colour, "width": 1, "dash": "dot"},
            name=name,
            text=[value for group in lines for value in (*[_join(texts[group])] * 2, None)],
            hovertemplate="%{text}<extra></extra>",
        )
    plot.update_layout(
        yaxis2={"overlaying": "y", "range": [0, 1], "visible": False, "fixedrange": True}
    )


def _worst(levels: npt.NDArray[Any]) -> str:
    return next((level for level, _, _ in LEVELS if level in levels), "info")


def _join(texts: npt.NDArray[Any]) -> str:
    lines = [plain(line) for text in texts[:4] for line in wrap(" ".join(text.split()), 70)[:4]]
    return "<br>".join([*lines, f"and {len(texts) - 4} more"] if len(texts) > 4 else lines)


def _scalar(value: Any) -> Any:
    return (
        np.datetime_as_string(value, unit="ms")
        if isinstance(value, np.datetime64)
        else float(value)
    )


def thin(frame: pd.DataFrame, points: int = 1000) -> pd.DataFrame:
    """At most `points` rows: means over equally many neighbouring epochs when there are more.
    Columns of numbers and times only."""
    numbers = frame.select_dtypes(["number", "datetime"])
    size = -(-len(numbers) // points)
    return (
        numbers
        if size <= 1
        else numbers.groupby(np.arange(len(numbers)) // size).mean().reset_index(drop=True)
    )
