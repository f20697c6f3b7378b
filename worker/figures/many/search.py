"""What a search over settings has tried: results by trial and by setting."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import plotly.graph_objects as go

from ganboard.worker.figures.palette import DISCRIMINATOR, GENERATOR
from ganboard.worker.figures.parallel import positions
from ganboard.worker.figures.template import figure, finite, plain

PRUNED = "#8a94a3"
SLICE_HEIGHT = 280


@dataclass(frozen=True)
class Dot:
    """A trial in a figure: its settings, and its result, or what it had reached when it was
    pruned or is now."""

    number: int
    name: str  # of the run
    state: str  # as it is shown
    value: float
    params: Mapping[str, Any]

    @property
    def hover(self) -> str:
        return f"Trial {self.number}: {plain(self.name)}<br>{self.state}"


GROUPS = (
    ("finished", "Finished", GENERATOR, "circle"),
    ("pruned", "Pruned (value so far)", PRUNED, "x"),
    ("other", "Not finished (value so far)", DISCRIMINATOR, "circle-open"),
)


def by_trial(dots: Sequence[Dot], *, objective: str, maximize: bool) -> go.Figure:
    """The value of each trial in their order, and the best result so far of the finished ones."""
    plot = figure(
        height=360,
        hovermode="closest",
        showlegend=True,
        xaxis={"title": {"text": "Trial"}, "range": _span(dots), "dtick": _step(dots)},
        yaxis={"title": {"text": plain(objective)}},
    )
    for group, name, colour, symbol in GROUPS:
        own = [dot for dot in dots if _group(dot) == group]
        if own:
            _scatter(plot, group, name, colour, symbol, own, [dot.number for dot in own])
    finished = sorted(
        (dot for dot in dots if _group(dot) == "finished"), key=lambda dot: dot.number
    )
    if finished:
        best = (np.maximum if maximize else np.minimum).accumulate(
            finite([dot.value for dot in finished])
        )
        plot.add_scatter(
            uid="best",
            x=[dot.number for dot in finished],
            y=best,
            mode="lines",
            line={"color": GENERATOR, "width": 1.5, "shape": "hv"},
            name="Best so far",
            hoverinfo="skip",
        )
    return plot


def slice_of(dots: Sequence[Dot], setting: str, *, label: str, objective: str) -> go.Figure:
    """The value of each trial by the value of one setting, by its logarithm where the range is
    wide."""
    place, (at, text) = positions([dot.params[setting] for dot in dots])
    plot = figure(
        height=SLICE_HEIGHT,
        hovermode="closest",
        showlegend=False,
        margin={"l": 56, "r": 16, "t": 12, "b": 44},
        xaxis={"title": {"text": plain(label)}, "tickvals": at, "ticktext": text},
        yaxis={"title": {"text": plain(objective)}},
    )
    for group, name, colour, symbol in GROUPS:
        chosen = [number for number, dot in enumerate(dots) if _group(dot) == group]
        if chosen:
            own = [dots[number] for number in chosen]
            _scatter(plot, group, name, colour, symbol, own, place[chosen])
    return plot


def importance(shares: Mapping[str, float], *, labels: Mapping[str, str]) -> go.Figure:
    """The share of the variation of results that each setting explains, the largest on top."""
    order = sorted(shares, key=lambda name: shares[name])
    plot = figure(
        height=90 + 32 * len(order),
        hovermode="closest",
        showlegend=False,
        margin={"l": 56, "r": 16, "t": 12, "b": 44},
        xaxis={
            "title": {"text": "Share of the variation explained"},
            "tickformat": ".0%",
            "range": [0, 1],
        },
    )
    plot.add_bar(
        uid="shares",
        x=[shares[name] for name in order],
        y=[plain(labels.get(name, name)) for name in order],
        orientation="h",
        marker={"color": GENERATOR},
        hovertemplate="%{y}: %{x:.0%}<extra></extra>",
    )
    return plot


def _scatter(
    plot: go.Figure, group: str, name: str, colour: str, symbol: str, dots: Sequence[Dot], x: Any
) -> None:
    plot.add_scatter(
        uid=group,
        x=x,
        y=finite([dot.value for dot in dots]),
        mode="markers",
        marker={"color": colour, "symbol": symbol, "size": 9},
        name=name,
        text=[dot.hover for dot in dots],
        hovertemplate="%{text}<br>%{y:.4g}<extra></extra>",
    )


def _group(dot: Dot) -> str:
    return dot.state if dot.state in ("finished", "pruned") else "other"


def _span(dots: Sequence[Dot]) -> tuple[float, float]:
    """From before the first trial to behind the last one."""
    return -0.5, max((dot.number for dot in dots), default=0) + 0.5


def _step(dots: Sequence[Dot]) -> int | None:
    """Whole numbers on the axis of trials; Plotly's own choice where there are many."""
    return 1 if len(dots) <= 12 else None
