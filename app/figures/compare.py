"""Several runs in one picture; every run keeps its colour."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from app.figures.losses import Axis, smooth
from app.figures.quality import AXES, WORDS
from app.figures.quality import Axis as QualityAxis
from app.figures.template import figure, finite, plain
from app.figures.timings import PARTS
from gan.events import MEASURES


@dataclass(frozen=True)
class Series:
    """One run as it appears in a comparison."""

    run_id: str
    name: str
    colour: str


def losses(
    series: list[Series], frames: Mapping[str, pd.DataFrame], *, net: str, x: Axis = "epoch", smoothing: float = 0.0, log_y: bool = False
) -> go.Figure:
    """Loss of one network ("g" or "d") of every run, against step or epoch; frames by run id with the columns `x` and `{net}_loss`."""
    plot = figure(
        height=360,
        xaxis={"title": {"text": "Step" if x == "step" else "Epoch"}},
        yaxis={"title": {"text": "Loss"}, "type": "log" if log_y else "linear"},
        showlegend=True,
    )
    for entry in series:
        frame = frames[entry.run_id]
        at, raw = frame[x].to_numpy(dtype=np.float64), finite(frame[f"{net}_loss"])
        own = {"x": at, "mode": "lines", "legendgroup": entry.run_id}
        if smoothing > 0:
            pale = {"color": entry.colour, "width": 1}
            plot.add_scatter(uid=f"{entry.run_id}-raw", y=raw, line=pale, opacity=0.25, showlegend=False, hoverinfo="skip", **own)
        plot.add_scatter(
            uid=entry.run_id,
            y=smooth(raw, smoothing),
            line={"color": entry.colour, "width": 2},
            name=plain(entry.name),
            hovertemplate="%{y:.4f}",
            **own,
        )
    return plot


def quality(series: list[Series], frames: Mapping[str, pd.DataFrame], *, measure: str, x: QualityAxis) -> go.Figure:
    """One measure of quality of every run over each other; frames by run id with the columns of `db.series.quality_frame`."""
    plot = figure(height=360, xaxis={"title": {"text": AXES[x]}}, yaxis={"title": {"text": WORDS[measure]}}, showlegend=True)
    for entry in series:
        frame = frames[entry.run_id]
        plot.add_scatter(
            uid=entry.run_id,
            x=frame[x].to_numpy(dtype=np.float64),
            y=finite(frame[measure]),
            mode="lines+markers" if len(frame) <= 60 else "lines",
            line={"color": entry.colour, "width": 2},
            marker={"size": 5},
            name=plain(entry.name),
            hovertemplate="%{y:.4g}",
        )
    return plot


def parts(series: list[Series], shares: Mapping[str, Mapping[str, float]]) -> go.Figure:
    """Where each run's time went: one bar per run of the shares (0 to 1) of PARTS, by run id and name; a run without shares has none."""
    plot = figure(
        height=130 + 42 * len(series),
        hovermode="closest",
        dragmode=False,
        barmode="stack",
        bargap=0.35,
        xaxis={"title": {"text": "% of the time"}, "range": [0, 100], "fixedrange": True},
        yaxis=_names(series),
        legend={"traceorder": "normal"},
    )
    for name, colour in PARTS:
        plot.add_bar(
            uid=name,
            orientation="h",
            x=100 * finite([shares.get(entry.run_id, {}).get(name, np.nan) for entry in series]),
            y=np.arange(len(series)),
            name=MEASURES[name],
            marker={"color": colour, "line": {"width": 0}},
            hovertemplate="%{x:.1f} %",
        )
    return plot


def bars(series: list[Series], values: Mapping[str, float | None], *, unit: str, baseline: str, digits: int = 2) -> go.Figure:
    """One bar per run, with its value and its ratio to the `baseline` run written at its end; a run without a value has no bar."""
    base = values.get(baseline)
    texts = [_ratio(values.get(entry.run_id), base, entry.run_id == baseline, digits) for entry in series]
    lengths = finite([np.nan if values.get(entry.run_id) is None else values[entry.run_id] for entry in series])
    longest = np.nanmax(lengths) if np.isfinite(lengths).any() else 1.0
    plot = figure(
        height=90 + 42 * len(series),
        hovermode=False,
        dragmode=False,
        showlegend=False,
        bargap=0.35,
        xaxis={"title": {"text": unit}, "range": [0, 1.3 * longest or 1.0], "fixedrange": True},
        yaxis=_names(series),
        margin={"t": 8},
    )
    plot.add_bar(
        uid="bars",
        orientation="h",
        x=lengths,
        y=np.arange(len(series)),
        marker={"color": [entry.colour for entry in series], "line": {"width": 0}},
        text=texts,
        textposition="outside",
        cliponaxis=False,
    )
    return plot


def _names(series: list[Series]) -> dict[str, Any]:
    """An axis of runs. They may have the same name: positions are numbers, the names only their labels."""
    labels = {"tickmode": "array", "tickvals": list(range(len(series))), "ticktext": [plain(entry.name) for entry in series]}
    return {**labels, "autorange": "reversed", "fixedrange": True}


def _ratio(value: float | None, base: float | None, is_baseline: bool, digits: int) -> str:
    if value is None or not np.isfinite(value):
        return ""
    number = f"{value:,.{digits}f}"
    if is_baseline:
        return f"{number} · baseline"
    return f"{number} · {value / base:.2f}×" if base and np.isfinite(base) else number
