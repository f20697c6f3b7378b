"""Figures of the studies: seconds against batch size, epochs, pairs and devices, with the range
over seeds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from ganboard.gan.events import MEASURES
from ganboard.gan.studies.scaling_laws import BatchLaw, amdahl
from ganboard.worker.figures.palette import CATEGORICAL
from ganboard.worker.figures.template import figure, finite, plain
from ganboard.worker.figures.timings import PARTS

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
    """Seconds of a run by batch size, over seeds, and the fitted law for a run of `images` images."""
    batches, values = list(seconds), [one for one in seconds.values() if len(one)]
    at = np.geomspace(min(batches), max(batches), 60)
    plot = figure(
        xaxis={"title": {"text": "Batch size"}, "type": "log", "tickvals": batches},
        yaxis={"title": {"text": "Training seconds"}, "rangemode": "tozero"},
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
        yaxis={"title": {"text": "Seconds"}, "rangemode": "tozero"},
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
            name=f"{what} {batch}, with compiling",
            legendgroup=str(batch),
            showlegend=False,
            hovertemplate="%{y:.3g} s with compiling",
        )
    return plot


def pairs(table: pd.DataFrame) -> go.Figure:
    """Seconds per epoch without and with XLA: columns runs, seconds_off, seconds_on, speedup."""
    plot = figure(
        barmode="group",
        yaxis={"title": {"text": "Seconds per epoch"}, "rangemode": "tozero"},
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
        xaxis={"title": {"text": "Images per second"}, "rangemode": "tozero"},
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
        xaxis={"title": {"text": "Batch size"}, "type": "log", "tickvals": batches},
        yaxis={"title": {"text": "Seconds / seconds at the smallest batch"}, "rangemode": "tozero"},
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


def overfitting(frames: Mapping[Any, pd.DataFrame], what: str = "Batch") -> go.Figure:
    """L1 by epoch and value of `what`, held out solid and trained with dashed, beside that of a
    flow that stands still.

    Columns epoch, l1, l1_train, l1_standing.
    """
    plot = figure(
        xaxis={
            "title": {"text": "Epoch"},
            "dtick": 1 if max(map(len, frames.values())) <= 10 else None,
        }
    )
    plot.update_yaxes(title_text="L1, in units of the inlet speed", rangemode="tozero")
    for (value, frame), colour in zip(frames.items(), CATEGORICAL * 4, strict=False):
        for column, word, dash in (
            ("l1", "held out", "solid"),
            ("l1_train", "trained with", "dash"),
        ):
            line = {"color": colour, "width": 2, "dash": dash}
            name = f"{what} {value}, {word}"
            plot.add_scatter(
                x=frame["epoch"],
                y=finite(frame[column]),
                mode="lines+markers",
                line=line,
                name=name,
                hovertemplate="%{y:.4f}",
            )
    still = max(frames.values(), key=len)
    line = {"color": "#8a94a3", "dash": "dot"}
    plot.add_scatter(
        x=still["epoch"],
        y=finite(still["l1_standing"]),
        mode="lines",
        line=line,
        name="If nothing moved",
        hovertemplate="%{y:.4f}",
    )
    return plot


def parts(table: pd.DataFrame) -> go.Figure:
    """Where the time went, in percent, a bar for each of the column `runs`: columns as of
    `timings.PARTS` without "_seconds"."""
    plot = figure(
        height=140 + 44 * len(table),
        barmode="stack",
        xaxis={"title": {"text": "% of the time"}, "range": [0, 100]},
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


def loss_curves(frames: Mapping[Any, pd.DataFrame], what: str = "Batch") -> go.Figure:
    """Mean losses of the epochs by value of `what`, G solid and D dashed, with the range over seeds
    as bands.

    Columns epoch and, for "g" and "d", `_loss`, `_loss_low`, `_loss_high`.
    """
    plot = figure(xaxis={"title": {"text": "Epoch"}}, yaxis={"title": {"text": "Mean loss"}})
    for (batch, frame), colour in zip(frames.items(), CATEGORICAL * 4, strict=False):
        for net, word, dash in (("g", "G", "solid"), ("d", "D", "dash")):
            own = {"x": frame["epoch"], "mode": "lines", "legendgroup": f"{batch}{net}"}
            if (frame[f"{net}_loss_high"] > frame[f"{net}_loss_low"]).any():
                edge = {
                    **own,
                    "line": {"width": 0, "color": colour},
                    "showlegend": False,
                    "hoverinfo": "skip",
                }
                plot.add_scatter(y=finite(frame[f"{net}_loss_low"]), **edge)
                plot.add_scatter(
                    y=finite(frame[f"{net}_loss_high"]),
                    fill="tonexty",
                    fillcolor=_pale(colour),
                    **edge,
                )
            line = {"color": colour, "width": 2, "dash": dash}
            plot.add_scatter(
                y=finite(frame[f"{net}_loss"]),
                line=line,
                name=f"{word}, {what.lower()} {batch}",
                hovertemplate="%{y:.4f}",
                **own,
            )
    return plot


def _pale(colour: str) -> str:
    red, green, blue = (int(colour[at : at + 2], 16) for at in (1, 3, 5))
    return f"rgba({red},{green},{blue},0.15)"


Histogram = tuple[list[int], Floats, npt.NDArray[np.int64], Floats]


def histograms(found: Mapping[tuple[Any, str], Histogram], what: str = "Batch") -> go.Figure:
    """How the losses of each epoch spread: a column of pictures per value of `what`, G above D,
    with their trend.

    Each is (epochs [E], edges [B + 1], counts [E, B], trend [E]) by (value, "g" or "d").
    """
    batches = list(dict.fromkeys(batch for batch, _ in found))
    plot = make_subplots(
        2,
        len(batches),
        shared_xaxes=True,
        column_titles=[f"{what} {batch}" for batch in batches],
        row_titles=["Generator", "Discriminator"],
        horizontal_spacing=0.05,
        vertical_spacing=0.08,
    )
    for (batch, net), (epochs, edges, counts, trend) in found.items():
        place = {"row": 1 if net == "g" else 2, "col": batches.index(batch) + 1}
        total = np.maximum(counts.sum(axis=1, keepdims=True), 1)
        share = np.where(counts > 0, 100 * counts / total, np.nan).T
        middle = (edges[:-1] + edges[1:]) / 2
        plot.add_heatmap(
            x=epochs,
            y=middle,
            z=share,
            coloraxis="coloraxis",
            hovertemplate="Epoch %{x}, loss %{y:.3f}: %{z:.1f} %<extra></extra>",
            **place,
        )
        line = {"color": CATEGORICAL[1], "width": 2}
        plot.add_scatter(
            x=epochs,
            y=finite(trend),
            mode="lines",
            line=line,
            showlegend=False,
            hoverinfo="skip",
            **place,
        )
    plot.update_layout(
        height=520,
        template=None,
        hovermode="closest",
        coloraxis={"colorbar": {"title": {"text": "% of steps"}, "thickness": 12}},
    )
    plot.update_xaxes(title_text="Epoch", row=2)
    return plot


def rates(frames: Mapping[str, pd.DataFrame]) -> go.Figure:
    """Nominal (dashed) and effective learning rates by run: columns epoch, nominal, effective."""
    plot = figure(
        xaxis={"title": {"text": "Epoch"}},
        yaxis={"title": {"text": "Learning rate"}, "type": "log", "exponentformat": "e"},
    )
    for (name, frame), colour in zip(frames.items(), CATEGORICAL * 4, strict=False):
        for column, width, dash in (("nominal", 1.5, "dash"), ("effective", 2, "solid")):
            positive = np.where(frame[column] > 0, frame[column], np.nan)
            line = {"color": colour, "width": width, "dash": dash}
            plot.add_scatter(
                x=frame["epoch"],
                y=positive,
                mode="lines",
                line=line,
                name=f"{plain(name)}, {column}",
                hovertemplate="%{y:.3e}",
            )
    return plot


def best_so_far(frames: Mapping[Any, pd.DataFrame], what: str = "Batch") -> go.Figure:
    """Lowest smoothed sum of losses up to each epoch, by value of `what`: columns epoch, best."""
    plot = figure(
        xaxis={"title": {"text": "Epoch"}},
        yaxis={"title": {"text": "Lowest smoothed G + D loss so far"}},
    )
    for (batch, frame), colour in zip(frames.items(), CATEGORICAL * 4, strict=False):
        line = {"color": colour, "width": 2, "shape": "hv"}
        plot.add_scatter(
            x=frame["epoch"],
            y=finite(frame["best"]),
            mode="lines",
            line=line,
            name=f"{what} {batch}",
            hovertemplate="%{y:.4f}",
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
        yaxis={"title": {"text": "Milliseconds per step"}, "rangemode": "tozero"},
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
    """Training seconds until a evaluation reached the `goal`, such as "FID 12", over seeds, by
    value of `what`.

    Values that never did are left out.
    """
    reached = {f"{what} {value}": one for value, one in found.items() if len(one)}
    plot = figure(
        xaxis={"type": "category"},
        yaxis={"title": {"text": f"Training seconds to {goal}"}, "rangemode": "tozero"},
        hovermode="closest",
    )
    plot.add_bar(
        x=list(reached),
        y=[one.mean() for one in reached.values()],
        error_y=_range(list(reached.values())),
        marker_color=CATEGORICAL[0],
    )
    return plot
