"""Figures of the studies: losses, learning rates and held-out errors by epoch."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from ganboard.worker.figures.palette import CATEGORICAL
from ganboard.worker.figures.template import figure, finite, plain

Floats = npt.NDArray[np.float64]
Histogram = tuple[list[int], Floats, npt.NDArray[np.int64], Floats]


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
        coloraxis={"colorbar": {"title": {"text": "Share of the steps (%)"}, "thickness": 12}},
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


def overfitting(frames: Mapping[Any, pd.DataFrame], what: str = "Batch") -> go.Figure:
    """L1 by epoch and value of `what`, held out solid and trained with dashed, beside that of a
    static flow.

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
        name="Static flow",
        hovertemplate="%{y:.4f}",
    )
    return plot
