"""Figures of the studies: seconds against batch size, epochs, pairs, devices and replicas, with the
range over seeds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import plotly.graph_objects as go

from ganboard.gan.studies.scaling_laws import BatchLaw, amdahl
from ganboard.worker.figures.palette import CATEGORICAL
from ganboard.worker.figures.template import figure, finite

Floats = npt.NDArray[np.float64]
OFF, ON = CATEGORICAL[0], CATEGORICAL[1]


def _range(values: list[Floats]) -> dict[str, object]:
    """Error bars from the mean to the least and the greatest."""
    above = [one.max() - one.mean() for one in values]
    below = [one.mean() - one.min() for one in values]
    return {
        "type": "data",
        "symmetric": False,
        "array": above,
        "arrayminus": below,
        "thickness": 1.5,
    }


def against_batch(seconds: Mapping[int, Floats], law: BatchLaw, images: float) -> go.Figure:
    """Seconds of a run by batch size, over seeds, and the fitted law for a run of `images`
    images."""
    batches, values = list(seconds), [one for one in seconds.values() if len(one)]
    at = np.geomspace(min(batches), max(batches), 60)
    plot = figure(
        xaxis={"title": {"text": "Batch size (images)"}, "type": "log", "tickvals": batches},
        yaxis={"title": {"text": "Training time (s)"}, "rangemode": "tozero"},
        hovermode="closest",
    )
    curve = [law.seconds(batch, images) for batch in at]
    plot.add_scatter(
        x=at,
        y=curve,
        mode="lines",
        name="t(B) = n (b + a / B)",
        line={"color": CATEGORICAL[5], "dash": "dash"},
    )
    plot.add_scatter(
        x=batches,
        y=[one.mean() for one in values],
        error_y=_range(values),
        mode="markers",
        name="Mean and range over seeds",
        marker={"size": 9, "color": CATEGORICAL[0]},
        hovertemplate="Batch %{x}: %{y:.4g} s<extra></extra>",
    )
    return plot


def epoch_times(frames: Mapping[Any, pd.DataFrame], what: str = "Batch") -> go.Figure:
    """Seconds of each epoch by value of `what`, mean over seeds; a diamond is the first epoch with
    its compiling. `epochs_frame` each."""
    plot = figure(
        xaxis={"title": {"text": "Epoch"}},
        yaxis={"title": {"text": "Time per epoch (s)"}, "rangemode": "tozero"},
    )
    for (batch, frame), colour in zip(frames.items(), CATEGORICAL * 4, strict=False):
        means = frame.groupby("epoch")[["seconds", "compile_seconds"]].mean()
        plot.add_scatter(
            x=means.index,
            y=finite(means["seconds"]),
            mode="lines+markers" if len(means) <= 60 else "lines",
            line={"color": colour, "width": 2},
            name=f"{what} {batch}",
            legendgroup=str(batch),
            hovertemplate="%{y:.3g} s",
        )
        first = means.iloc[:1]
        plot.add_scatter(
            x=first.index,
            y=finite(first["seconds"] + first["compile_seconds"]),
            mode="markers",
            marker={"symbol": "diamond-open", "size": 10, "color": colour},
            name=f"{what} {batch}, including compilation",
            legendgroup=str(batch),
            showlegend=False,
            hovertemplate="%{y:.3g} s including compilation",
        )
    return plot


def pairs(table: pd.DataFrame) -> go.Figure:
    """Seconds per epoch without and with XLA: columns runs, seconds_off, seconds_on, speedup."""
    plot = figure(
        barmode="group",
        yaxis={"title": {"text": "Time per epoch (s)"}, "rangemode": "tozero"},
        hovermode="closest",
    )
    for column, name, colour in (("seconds_off", "XLA off", OFF), ("seconds_on", "XLA on", ON)):
        plot.add_bar(
            x=table["runs"],
            y=finite(table[column]),
            name=name,
            marker_color=colour,
            hovertemplate="%{x}: %{y:.3g} s<extra></extra>",
        )
    for label, high, ratio in zip(
        table["runs"],
        table[["seconds_off", "seconds_on"]].max(axis=1),
        table["speedup"],
        strict=True,
    ):
        plot.add_annotation(x=label, y=high, text=f"{ratio:.2f}×", showarrow=False, yshift=12)
    return plot


def devices(seconds_per_image: Mapping[str, Floats]) -> go.Figure:
    """Images per second of each device, over seeds."""
    rates = [1 / one for one in seconds_per_image.values()]
    plot = figure(
        height=140 + 44 * len(rates),
        xaxis={"title": {"text": "Throughput (images/s)"}, "rangemode": "tozero"},
        hovermode="closest",
    )
    plot.add_bar(
        orientation="h",
        y=list(seconds_per_image),
        x=[one.mean() for one in rates],
        error_x=_range(rates),
        marker_color=CATEGORICAL[0],
        hovertemplate="%{y}: %{x:.4g} images/s<extra></extra>",
    )
    plot.update_yaxes(autorange="reversed")
    return plot


def relative(lines: Mapping[str, Mapping[int, Floats]]) -> go.Figure:
    """Seconds by batch size as a multiple of those at the smallest batch, over seeds, by source:
    the first was measured here."""
    batches = sorted({batch for line in lines.values() for batch in line})
    plot = figure(
        xaxis={"title": {"text": "Batch size (images)"}, "type": "log", "tickvals": batches},
        yaxis={"title": {"text": "Time / time at the smallest batch"}, "rangemode": "tozero"},
        hovermode="closest",
    )
    for place, ((name, line), colour) in enumerate(zip(lines.items(), CATEGORICAL, strict=False)):
        plot.add_scatter(
            x=list(line),
            y=[values.mean() for values in line.values()],
            error_y=_range(list(line.values())) if place == 0 else None,
            mode="lines+markers",
            name=name,
            line={"color": colour, "width": 2, "dash": "solid" if place == 0 else "dot"},
            marker={"size": 9, "symbol": "circle" if place == 0 else "diamond-open"},
            hovertemplate="Batch %{x}: %{y:.3g}",
        )
    return plot


def speedups(points: Mapping[str, Mapping[int, float]], serial: float) -> go.Figure:
    """Speed-up by number of replicas and source, the first of them measured, beside Amdahl's law
    with this serial share and the ideal."""
    most = max(count for found in points.values() for count in found)
    at = np.geomspace(1, most, 60)
    axis = {"type": "log", "dtick": "D1"}
    plot = figure(
        xaxis={"title": {"text": "Replicas"}, **axis},
        yaxis={"title": {"text": "Speed-up"}, **axis},
        hovermode="closest",
    )
    plot.add_scatter(
        x=at, y=at, mode="lines", name="Ideal", line={"color": "#8a94a3", "dash": "dot"}
    )
    fitted = {"color": CATEGORICAL[0], "dash": "dash"}
    plot.add_scatter(
        x=at,
        y=amdahl(at, serial),
        mode="lines",
        name=f"Amdahl, serial share {100 * serial:.0f} %",
        line=fitted,
    )
    for (name, found), colour in zip(
        points.items(), (CATEGORICAL[0], *CATEGORICAL[1:]), strict=False
    ):
        own = {
            "size": 9,
            "color": colour,
            "symbol": "circle" if colour == CATEGORICAL[0] else "diamond-open",
        }
        plot.add_scatter(
            x=list(found),
            y=list(found.values()),
            mode="markers",
            name=name,
            marker=own,
            hovertemplate="%{x} replicas: %{y:.3g}×<extra></extra>",
        )
    return plot


def forecast(table: pd.DataFrame) -> go.Figure:
    """Expected and measured milliseconds of a step: columns replicas, milliseconds,
    milliseconds_p95, measured_milliseconds."""
    labels = [str(count) for count in table["replicas"]]
    plot = figure(
        xaxis={"title": {"text": "Replicas"}, "type": "category"},
        yaxis={"title": {"text": "Time per step (ms)"}, "rangemode": "tozero"},
    )
    above = finite(table["milliseconds_p95"] - table["milliseconds"])
    bars = {"type": "data", "symmetric": False, "array": above, "arrayminus": np.zeros(len(above))}
    plot.add_bar(
        x=labels,
        y=finite(table["milliseconds"]),
        error_y=bars,
        name="Forecast",
        marker_color=CATEGORICAL[6],
        opacity=0.7,
    )
    known = {"size": 10, "color": CATEGORICAL[0]}
    plot.add_scatter(
        x=labels,
        y=finite(table["measured_milliseconds"]),
        mode="markers",
        name="Measured",
        marker=known,
    )
    return plot


def seconds_to_quality(found: Mapping[Any, Floats], goal: str, what: str = "Batch") -> go.Figure:
    """Training seconds until an evaluation reached the `goal`, such as "FID 12", over seeds, by
    value of `what`.

    Values that never did are left out.
    """
    reached = {f"{what} {value}": one for value, one in found.items() if len(one)}
    plot = figure(
        xaxis={"type": "category"},
        yaxis={"title": {"text": f"Training time to {goal} (s)"}, "rangemode": "tozero"},
        hovermode="closest",
    )
    plot.add_bar(
        x=list(reached),
        y=[one.mean() for one in reached.values()],
        error_y=_range(list(reached.values())),
        marker_color=CATEGORICAL[0],
    )
    return plot
