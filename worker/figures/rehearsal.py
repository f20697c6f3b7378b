"""Where the time of a compiled step goes, by the compiler's estimate."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import Any

import plotly.graph_objects as go

from ganboard.worker.figures.palette import CATEGORICAL
from ganboard.worker.figures.template import figure

_BARS = 14  # parts; the others are one bar
OTHERS = "other parts"


def parts(report: Mapping[str, Any]) -> go.Figure:
    """Bars of a report's parts (`gan.rehearsal.report`), the longest on top: milliseconds of a
    step, forward and backward."""
    spent = by_part(report)
    names = sorted(spent, key=lambda name: sum(spent[name]), reverse=True)
    shown = names[:_BARS]
    rest = [sum(spent[name][way] for name in names[_BARS:]) for way in (0, 1)]
    plot = figure(
        barmode="stack",
        xaxis={"title": {"text": "Estimated time per step (ms)"}, "rangemode": "tozero"},
        yaxis={"autorange": "reversed", "automargin": True},
        height=120 + 26 * (len(shown) + any(rest)),
    )
    labels = [*shown, *([OTHERS] if any(rest) else [])]
    for way, name, colour in ((0, "Forward", CATEGORICAL[0]), (1, "Backward", CATEGORICAL[4])):
        values = [spent[part][way] for part in shown] + ([rest[way]] if any(rest) else [])
        plot.add_bar(
            uid=name.lower(),
            name=name,
            orientation="h",
            y=labels,
            x=[1e3 * value for value in values],
            marker={"color": colour},
            hovertemplate="%{y}: %{x:.3g} ms<extra>" + name + "</extra>",
        )
    return plot


def by_part(report: Mapping[str, Any]) -> dict[str, tuple[float, float]]:
    """Seconds of a step by part: forward, backward."""
    spent: defaultdict[str, list[float]] = defaultdict(lambda: [0.0, 0.0])
    for program in report["programs"]:
        for part in program["parts"]:
            seconds = program["calls"] * program["seconds"] * part["share"]
            spent[part["part"]][part["backward"]] += seconds
    return {part: (forward, backward) for part, (forward, backward) in spent.items()}
