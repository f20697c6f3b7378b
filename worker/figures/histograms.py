"""How the losses of the steps are spread, epoch by epoch: a heat map with the course of the
mean."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import plotly.graph_objects as go

from ganboard.worker.figures.template import NETS, figure, finite, plain

BINS = 60
COLUMNS = 300  # epochs are summed beyond that: a screen shows no more
_NAMES = {net: name for net, name, _ in NETS}
TREND_EPOCHS = 5
_MEAN = "#e0543a"  # stands out from every blue of the scale


def density(
    epochs: list[int],
    edges: npt.NDArray[Any],
    counts: npt.NDArray[Any],
    *,
    net: str,
    mean_epochs: Any = (),
    means: Any = (),
) -> go.Figure:
    """Share of the steps of each epoch ([E] epochs) whose loss fell into each bin (edges [B + 1],
    counts [E, B]).

    `means` [M] are the mean losses of `mean_epochs` [M]: points, and their moving average over
    TREND_EPOCHS epochs as a line. Bins without a step stay empty.
    """
    plot = figure(
        height=360,
        hovermode="closest",
        xaxis={"title": {"text": "Epoch"}},
        yaxis={"title": {"text": f"{_NAMES[net]} loss"}},
    )
    at, summed = _columns(
        np.asarray(epochs, dtype=np.float64), np.asarray(counts, dtype=np.float64)
    )
    total = summed.sum(axis=1, keepdims=True)
    share = np.divide(
        100 * summed, total, out=np.full_like(summed, np.nan), where=(total > 0) & (summed > 0)
    )
    centres = (np.asarray(edges[:-1]) + np.asarray(edges[1:])) / 2
    plot.add_heatmap(
        uid="density",
        x=at,
        y=centres,
        z=share.T,
        autocolorscale=True,  # the viewer's template has one for light and one for dark
        zmin=0,
        zmax=float(np.nanmax(share, initial=1.0)),
        hovertemplate="Epoch %{x}<br>loss about %{y:.3f}<br>%{z:.1f} % of the steps<extra></extra>",
        colorbar=_bar("steps"),
        hoverongaps=False,
    )
    at, raw = np.asarray(mean_epochs, dtype=np.float64), finite(means)
    plot.add_scatter(
        uid="mean",
        x=at,
        y=raw,
        mode="markers" if len(at) <= 60 else "lines",
        line={"color": _MEAN, "width": 1},
        opacity=0.55,
        marker={"size": 4, "color": _MEAN},
        name="Mean of the epoch",
        showlegend=True,
        hovertemplate="Epoch %{x}<br>mean %{y:.4f}<extra></extra>",
    )
    trend = pd.Series(raw).rolling(TREND_EPOCHS, min_periods=1).mean().to_numpy()
    plot.add_scatter(
        uid="trend",
        x=at,
        y=np.where(np.isfinite(raw), trend, np.nan),
        mode="lines",
        line={"color": _MEAN, "width": 2.5},
        name=f"Moving average of {TREND_EPOCHS} epochs",
        showlegend=True,
        hovertemplate=f"Epoch %{{x}}<br>mean of {TREND_EPOCHS} epochs %{{y:.4f}}<extra></extra>",
    )
    return plot


def spread(
    steps: list[int], edges: list[npt.NDArray[Any]], counts: list[npt.NDArray[Any]], name: str
) -> go.Figure:
    """Share of the values of `name` in each of BINS equal bins at each step ([S]), from histograms
    with bins of their own; within one of those the values are spread evenly."""
    common = np.linspace(min(one[0] for one in edges), max(one[-1] for one in edges), BINS + 1)
    shares = np.stack([_share(common, *one) for one in zip(edges, counts, strict=True)])
    plot = figure(
        height=300,
        hovermode="closest",
        title={"text": plain(name)},
        margin={"t": 40},
        xaxis={"title": {"text": "Step"}},
        yaxis={"title": {"text": "Value"}},
    )
    at, summed = _columns(np.asarray(steps, np.float64), shares)
    total = summed.sum(axis=1, keepdims=True)
    plot.add_heatmap(
        uid="spread",
        x=at,
        y=(common[:-1] + common[1:]) / 2,
        z=np.where(summed > 0, 100 * summed / np.where(total > 0, total, 1), np.nan).T,
        autocolorscale=True,
        zmin=0,
        hovertemplate="Step %{x:,}<br>about %{y:.4g}<br>%{z:.1f} % of the values<extra></extra>",
        colorbar=_bar("values"),
        hoverongaps=False,
    )
    return plot


def _bar(what: str) -> dict[str, Any]:
    title = {"text": f"Share of the {what} (%)", "side": "right"}
    return {"title": title, "thickness": 12, "outlinewidth": 0}


def _share(
    common: npt.NDArray[np.float64], edges: npt.NDArray[Any], counts: npt.NDArray[Any]
) -> npt.NDArray[np.float64]:
    """Share [BINS] of the values between the edges of `common`."""
    if edges[0] == edges[-1]:  # all values are equal
        return np.histogram(edges[:1], common)[0].astype(np.float64)
    below = np.concatenate([[0.0], np.cumsum(counts)]) / max(np.sum(counts), 1e-300)
    inside: npt.NDArray[np.float64] = np.diff(np.interp(common, edges, below))
    return inside


def _columns(
    epochs: npt.NDArray[np.float64], counts: npt.NDArray[np.float64]
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """At most COLUMNS columns: neighbouring epochs summed, named by their middle."""
    size = -(-len(epochs) // COLUMNS)
    if size <= 1:
        return epochs, counts
    starts = np.arange(0, len(epochs), size)
    middles = np.add.reduceat(epochs, starts) / np.diff(np.append(starts, len(epochs)))
    return middles, np.add.reduceat(counts, starts)
