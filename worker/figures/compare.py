"""Several runs in one picture; every run keeps its colour, and its dash unless its curve covers
another."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from ganboard.gan.events import MEASURES
from ganboard.gan.quality.declared import METRICS
from ganboard.worker.figures.many.stacks import coinciding
from ganboard.worker.figures.palette import DASHES, PATTERNS, run_colour, run_style
from ganboard.worker.figures.template import NETS, Axis, along, course, figure, finite, limit, plain
from ganboard.worker.figures.timings import PARTS
from ganboard.worker.formatting import shorten


@dataclass(frozen=True)
class Series:
    """One run as it appears in a comparison: its number determines its style."""

    run_id: str
    name: str
    number: int

    @property
    def colour(self) -> str:
        return run_colour(self.number)

    @property
    def line(self) -> dict[str, Any]:
        return {"color": self.colour, "width": 2, "dash": DASHES[run_style(self.number)]}


def _lines(
    series: list[Series], frames: Mapping[str, pd.DataFrame], column: str, x: Axis
) -> dict[str, dict[str, Any]]:
    """The line of each run by its id, in the order of drawing: where curves coincide the first is
    broad, and the others lie on it in dashes."""
    numbered = {one.run_id: frames[one.run_id] for one in sorted(series, key=_number)}
    stacks = coinciding(numbered, column, x)
    on_top = {run_id: place for stack in stacks.values() for place, run_id in enumerate(stack)}
    lines = {}
    for one in sorted(series, key=lambda one: one.run_id in on_top):
        lines[one.run_id] = one.line
        if one.run_id in stacks:
            lines[one.run_id] |= {"width": 5, "dash": "solid"}
        elif one.run_id in on_top:
            lines[one.run_id] |= {"dash": DASHES[1 + on_top[one.run_id] % (len(DASHES) - 1)]}
    return lines


def _number(entry: Series) -> int:
    return entry.number


def losses(
    series: list[Series],
    frames: Mapping[str, pd.DataFrame],
    *,
    net: str,
    x: Axis = "epoch",
    smoothed: bool = False,
    log_x: bool = False,
    log_y: bool = False,
    usual: tuple[float, float] | None = None,
    title: str = "",
) -> go.Figure:
    """Loss of one network ("g" or "d") of every run.

    `frames` are by run id and have the columns `x`, `{net}_loss` and, if `smoothed`,
    `{net}_smooth`, in front of which the losses are shown pale. The y axis spans `usual`, or
    everything; its `title` says what else the values are.
    """
    name = next(name for one, name, _ in NETS if one == net)
    title = title or f"{name} loss"
    plot = course(x, title, log_x=log_x, log_y=log_y, height=360, showlegend=True)
    entries = {entry.run_id: entry for entry in series}
    lines = _lines(series, frames, f"{net}_smooth" if smoothed else f"{net}_loss", x)
    for run_id, line in lines.items():
        entry, frame = entries[run_id], frames[run_id]
        raw = finite(frame[f"{net}_loss"])
        own = {"x": along(frame, x), "mode": "lines", "legendgroup": entry.run_id}
        if smoothed:
            pale = {"color": entry.colour, "width": 1}
            plot.add_scatter(
                uid=f"{entry.run_id}-raw",
                y=raw,
                line=pale,
                opacity=0.25,
                showlegend=False,
                hoverinfo="skip",
                **own,
            )
        values = finite(frame[f"{net}_smooth"]) if smoothed else raw
        plot.add_scatter(
            uid=entry.run_id,
            y=values,
            line=line,
            name=plain(entry.name),
            hovertemplate="%{y:.4f}",
            **own,
        )
    if usual is not None:
        limit(plot, *usual)
    return plot


def quality(
    series: list[Series],
    frames: Mapping[str, pd.DataFrame],
    *,
    measure: str,
    x: Axis,
    log_y: bool = False,
    title: str = "",
) -> go.Figure:
    """One measure of quality of every run over each other; frames by run id with the columns of
    `db.curves.series.quality_frame`. The `title` is that of the axis; else the measure's label."""
    plot = course(x, title or METRICS[measure].label, log_y=log_y, height=360, showlegend=True)
    entries = {entry.run_id: entry for entry in series}
    for run_id, line in _lines(series, frames, measure, x).items():
        entry, frame = entries[run_id], frames[run_id]
        plot.add_scatter(
            uid=entry.run_id,
            x=along(frame, x),
            y=finite(frame[measure]),
            mode="lines+markers" if len(frame) <= 60 else "lines",
            line=line,
            marker={"size": 5},
            name=plain(entry.name),
            hovertemplate="%{y:.4g}",
        )
    return plot


def parts(series: list[Series], shares: Mapping[str, Mapping[str, float]]) -> go.Figure:
    """Where each run's time went: one bar per run of the shares (0 to 1) of PARTS, by run id and
    name; a run without shares has none."""
    plot = figure(
        height=130 + 42 * len(series),
        hovermode="closest",
        dragmode=False,
        barmode="stack",
        bargap=0.35,
        xaxis={"title": {"text": "Share of the time (%)"}, "range": [0, 100], "fixedrange": True},
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


def bars(
    series: list[Series],
    values: Mapping[str, float | None],
    *,
    unit: str,
    baseline: str,
    digits: int = 2,
    absent: Mapping[str, str] | None = None,
) -> go.Figure:
    """One bar per run, with its value and its ratio to the `baseline` run written at its end.

    A run without a value has no bar, but its word in `absent`. Runs of one colour differ in the
    pattern of their bars.
    """
    base, text = values.get(baseline), absent or {}
    texts = [
        _ratio(values.get(one.run_id), base, one.run_id == baseline, digits)
        or text.get(one.run_id, "")
        for one in series
    ]
    lengths = finite(
        [np.nan if values.get(entry.run_id) is None else values[entry.run_id] for entry in series]
    )
    longest = np.nanmax(lengths) if np.isfinite(lengths).any() else 1.0
    plot = figure(
        height=90 + 36 * len(series),
        hovermode=False,
        dragmode=False,
        showlegend=False,
        bargap=0.35,
        xaxis={"title": {"text": unit}, "range": [0, 1.4 * longest or 1.0], "fixedrange": True},
        yaxis=_names(series),
        margin={"t": 8},
    )
    plot.add_bar(
        uid="bars",
        orientation="h",
        # text needs a position
        x=np.where(np.isnan(lengths), 0.0, lengths) if text else lengths,
        y=np.arange(len(series)),
        marker={
            "color": [entry.colour for entry in series],
            "line": {"width": 0},
            "pattern": {
                "shape": [PATTERNS[run_style(entry.number)] for entry in series],
                "solidity": 0.4,
            },
        },
        text=texts,
        textposition="outside",
        cliponaxis=False,
    )
    return plot


def _names(series: list[Series]) -> dict[str, Any]:
    """An axis of runs. They may have the same name: positions are numbers, the names only their
    labels."""
    names = [plain(shorten(entry.name, 28)) for entry in series]
    labels = {"tickmode": "array", "tickvals": list(range(len(series))), "ticktext": names}
    return {**labels, "range": [len(series) - 0.5, -0.5], "fixedrange": True}


def _ratio(value: float | None, base: float | None, is_baseline: bool, digits: int) -> str:
    if value is None or not np.isfinite(value):
        return ""
    number = f"{value:,.{digits}f}"
    if is_baseline:
        return f"{number} · baseline"
    return f"{number} · {value / base:.2f}×" if base and np.isfinite(base) else number
