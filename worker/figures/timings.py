"""What an epoch costs: where its seconds went, how long its steps took, and images per second."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from ganboard.gan.events import MEASURES
from ganboard.worker.figures.curves import label_ends
from ganboard.worker.figures.palette import CATEGORICAL
from ganboard.worker.figures.template import Axis, along, course, draw_events, figure, finite, thin

TRAINING, COMPILING = CATEGORICAL[0], CATEGORICAL[5]
PARTS = (
    ("compute_seconds", CATEGORICAL[0]),
    ("reduce_seconds", CATEGORICAL[4]),
    ("input_seconds", CATEGORICAL[1]),
    ("host_seconds", CATEGORICAL[6]),
)
_QUANTILES = (
    ("step_p50", CATEGORICAL[0]),
    ("step_p95", CATEGORICAL[4]),
    ("step_max", CATEGORICAL[1]),
)


def shares(frame: pd.DataFrame) -> dict[str, float]:
    """Share of each of PARTS in all measured time, from `db.curves.series.measures_frame`; empty
    where none was measured."""
    sums = {name: float(frame[name].sum()) for name, _ in PARTS if name in frame}
    whole = sum(sums.values())
    return (
        {name: seconds / whole for name, seconds in sums.items()}
        if whole > 0 and sums.get("compute_seconds")
        else {}
    )


def bottleneck(shares: Mapping[str, float]) -> str:
    """The part that takes most of the time."""
    return max(shares, key=lambda part: shares[part])


def seconds(frame: pd.DataFrame) -> go.Figure:
    """Seconds of each epoch as stacked bars: where they went, and on top tracing and compiling.

    `frame` has the columns of `db.curves.series.epochs_frame` and those of `measures_frame` that
    there are; where computing was not measured apart, the whole of the training steps is one part.
    """
    known = (
        frame["compute_seconds"].notna()
        if "compute_seconds" in frame
        else pd.Series(False, index=frame.index)
    )
    rows = thin(frame.assign(seconds=frame["seconds"].mask(known)), 300)
    at = rows["epoch"].to_numpy(dtype=np.float64)
    plot = figure(
        barmode="stack",
        bargap=0.25,
        xaxis={"title": {"text": "Epoch"}},
        yaxis={"title": {"text": "Time per epoch (s)"}, "rangemode": "tozero"},
        legend={"traceorder": "normal"},
    )
    parts = [
        ("seconds", "Training steps", TRAINING),
        *((name, MEASURES[name], colour) for name, colour in PARTS),
    ]
    for column, name, colour in (*parts, ("compile_seconds", "Tracing and compilation", COMPILING)):
        values = finite(rows[column]) if column in rows else np.full(len(rows), np.nan)
        if np.nansum(values) > 0 or column == "compile_seconds":
            bar = {"color": colour, "line": {"width": 0}}
            plot.add_bar(
                uid=column, x=at, y=values, name=name, marker=bar, hovertemplate="%{y:.2f} s"
            )
    return plot


def steps(
    frame: pd.DataFrame, *, x: Axis = "epoch", events: pd.DataFrame | None = None
) -> go.Figure:
    """Median, 95th percentile and maximum of the seconds per step of each epoch: columns of
    `measures_frame` and of `epochs_frame`."""
    plot = course(x, "Time per step", height=320, showlegend=True)
    plot.update_yaxes(rangemode="tozero", tickformat="~s", ticksuffix="s")
    rows = thin(frame)
    for column, colour in _QUANTILES:
        if column in rows:
            plot.add_scatter(
                uid=column,
                x=along(rows, x),
                y=finite(rows[column]),
                mode="lines+markers" if len(rows) <= 60 else "lines",
                line={"color": colour, "width": 2},
                marker={"size": 5},
                name=MEASURES[column],
                hovertemplate="%{y:.4s}s",
            )
    label_ends(plot)
    if events is not None:
        draw_events(plot, events, x)
    return plot


def throughput(
    frame: pd.DataFrame, *, x: Axis = "epoch", events: pd.DataFrame | None = None
) -> go.Figure:
    """Real images per second of each epoch's training steps, compiling left out."""
    plot = course(x, "Throughput (images/s)", showlegend=False)
    plot.update_yaxes(rangemode="tozero")
    rows = thin(frame)
    plot.add_scatter(
        uid="rate",
        x=along(rows, x),
        y=finite(rows["images_per_second"]),
        mode="lines+markers" if len(rows) <= 60 else "lines",
        line={"color": TRAINING, "width": 2},
        marker={"size": 5},
        hovertemplate="%{y:,.0f} images/s",
        name="Images per second",
    )
    label_ends(plot)
    if events is not None:
        draw_events(plot, events, x)
    return plot


def parts(table: pd.DataFrame) -> go.Figure:
    """Where the time went, in percent, a bar for each of the column `runs`: columns as of
    `PARTS` without "_seconds"."""
    plot = figure(
        height=140 + 44 * len(table),
        barmode="stack",
        xaxis={"title": {"text": "Share of the time (%)"}, "range": [0, 100]},
        hovermode="closest",
    )
    for name, colour in PARTS:
        values = 100 * finite(table[name.removesuffix("_seconds")])
        plot.add_bar(
            orientation="h",
            y=table["runs"],
            x=values,
            name=MEASURES[name],
            marker_color=colour,
            hovertemplate="%{y}: %{x:.1f} %",
        )
    plot.update_yaxes(autorange="reversed").update_layout(legend_traceorder="normal")
    return plot
