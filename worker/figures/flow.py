"""Predicted and real flows, from the results of `prediction.prediction.compute`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import plotly.graph_objects as go

from ganboard.worker.figures.palette import CATEGORICAL
from ganboard.worker.figures.template import MISSING, figure, finite

PARTS = {"split": "Split", "transfer": "Transfer", "execute": "Execute", "merge": "Merge"}
ERRORS = {
    "L1": (("l1", "Predicted"), ("held_l1", "First frame held")),
    "RMS": (("rms", "Predicted"), ("held_rms", "First frame held"), ("mean_rms", "Mean flow")),
}
_STYLES = {
    "Predicted": (CATEGORICAL[0], "solid"),
    "First frame held": (CATEGORICAL[1], "dash"),
    "Mean flow": (CATEGORICAL[2], "dot"),
}


def errors(flow: Mapping[str, Any], name: str) -> go.Figure:
    """One of ERRORS of a flow by step, beside those of answers that need no network."""
    axis = {"title": {"text": f"{name}, in units of the fields"}, "rangemode": "tozero"}
    plot = figure(height=280, xaxis={"title": {"text": "Step"}}, yaxis=axis, showlegend=True)
    for key, text in ERRORS[name]:
        values, (colour, dash) = finite(flow[key]), _STYLES[text]
        line = {"color": colour, "width": 2, "dash": dash}
        mode = "lines" if len(values) > 1 else "markers"
        plot.add_scatter(
            uid=key,
            x=list(range(1, len(values) + 1)),
            y=values,
            mode=mode,
            name=text,
            line=line,
            hovertemplate="%{y:.4f}",
        )
    if name == "RMS" and flow["horizon"] < len(flow["rms"]):
        lost = flow["horizon"] + 1
        plot.add_shape(
            type="line",
            x0=lost,
            x1=lost,
            y0=0,
            y1=1,
            yref="paper",
            line={"color": MISSING, "width": 1, "dash": "dot"},
        )
    return plot


def parts(times: Mapping[str, Any]) -> go.Figure:
    """Milliseconds of a frame by part, of later frames (their median): the first one compiles, and
    would hide them."""
    plot = figure(
        height=150,
        barmode="stack",
        hovermode="closest",
        showlegend=True,
        xaxis={"title": {"text": "Time per frame (ms)"}},
    )
    plot.update_layout(legend_traceorder="normal")
    for index, (name, text) in enumerate(PARTS.items()):
        milliseconds = 1e3 * times["steady"][name]
        bar = {"color": CATEGORICAL[index], "line": {"width": 0}}
        plot.add_bar(
            uid=name,
            x=[milliseconds],
            y=[""],
            orientation="h",
            name=text,
            marker=bar,
            hovertemplate=f"{text}: %{{x:.1f}} ms",
        )
    return plot
