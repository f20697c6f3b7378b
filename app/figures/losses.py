"""Losses of generator and discriminator: per step, raw and smoothed, and their means per epoch."""

from __future__ import annotations

from typing import Literal

import numpy as np
import numpy.typing as npt
import pandas as pd
import plotly.graph_objects as go

from app.figures.template import NETS, figure, finite, mark_not_finite, thin

MAX_SMOOTHING = 0.999
Axis = Literal["step", "epoch"]


def smooth(values: npt.NDArray[np.float64], weight: float) -> npt.NDArray[np.float64]:
    """Exponential moving average of [n] values with bias correction, as of Adam (Kingma & Ba 2015, Algorithm 1).

    m_t = w m_(t-1) + (1 - w) x_t, shown as m_t / (1 - w^t), so a constant series stays constant. NaN is passed over and
    stays a gap. `weight` is 0 (none) to 0.999.
    """
    if weight <= 0:
        return values
    averaged = pd.Series(values).ewm(alpha=1 - min(weight, MAX_SMOOTHING), adjust=True, ignore_na=True).mean().to_numpy()
    return np.where(np.isnan(values), np.nan, averaged)


def steps(frame: pd.DataFrame, *, x: Axis = "step", smoothing: float = 0.0, log_y: bool = False) -> go.Figure:
    """Loss against step, or against epochs passed, from `db.series.step_losses`: raw, and pale behind its smoothed course."""
    plot = _axes("Step" if x == "step" else "Epochs passed", "Loss per step", log_y)
    at = frame[x].to_numpy(dtype=np.float64)
    for net, name, colour in NETS:
        raw = finite(frame[f"{net}_loss"])
        if smoothing > 0:
            pale = {"color": colour, "width": 1}
            plot.add_scatter(
                uid=f"{net}-raw", x=at, y=raw, mode="lines", line=pale, opacity=0.3, legendgroup=net, showlegend=False, hoverinfo="skip"
            )
        line = {"color": colour, "width": 2 if smoothing > 0 else 1.5}
        plot.add_scatter(uid=net, x=at, y=smooth(raw, smoothing), mode="lines", line=line, name=name, legendgroup=net)
    plot.update_traces(hovertemplate="%{y:.4f}", selector={"showlegend": None})
    mark_not_finite(plot, at, frame["g_loss"], frame["d_loss"])
    return plot


def epochs(frame: pd.DataFrame, *, log_y: bool = False) -> go.Figure:
    """Mean loss of each epoch, from `db.series.epochs_frame` of one run."""
    plot = _axes("Epoch", "Mean loss per epoch", log_y)
    rows = thin(frame)
    for net, name, colour in NETS:
        mode = "lines+markers" if len(rows) <= 60 else "lines"
        plot.add_scatter(
            uid=net,
            x=rows["epoch"].to_numpy(dtype=np.float64),
            y=finite(rows[f"{net}_loss"]),
            mode=mode,
            line={"color": colour, "width": 2},
            marker={"size": 5},
            name=name,
            hovertemplate="%{y:.4f}",
        )
    mark_not_finite(plot, rows["epoch"], rows["g_loss"], rows["d_loss"])
    return plot


def _axes(x: str, y: str, log_y: bool) -> go.Figure:
    return figure(xaxis={"title": {"text": x}}, yaxis={"title": {"text": y}, "type": "log" if log_y else "linear"})
