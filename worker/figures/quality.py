"""How good the generated images are: each measure over the course of training, and how the images
spread over the classes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from ganboard.gan.config import model_of
from ganboard.gan.quality import declared
from ganboard.gan.quality.declared import METRICS
from ganboard.worker.figures import template
from ganboard.worker.figures.curves import label_ends
from ganboard.worker.figures.palette import CATEGORICAL
from ganboard.worker.figures.template import AXES, MISSING, Axis, along, draw_events, figure, finite

__all__ = ["AXES", "Axis", "classes", "course", "headline", "model_of"]


def headline(config: Mapping[str, Any]) -> str:
    """The main metric of the run's model: a number that is better the lower it is."""
    return declared.headline(model_of(config)).name


def course(
    frame: pd.DataFrame,
    names: tuple[str, ...],
    *,
    x: Axis,
    log_y: bool = False,
    events: pd.DataFrame | None = None,
) -> go.Figure:
    """Some measures of `db.curves.series.quality_frame` of one run over its course; what is not
    finite is a gap."""
    labels = [METRICS[name].label for name in names]
    title = labels[0] if len(labels) > 2 else " and ".join(labels)
    plot = template.course(x, title, log_y=log_y, height=260, showlegend=len(names) > 1)
    for index, name in enumerate(names):
        plot.add_scatter(
            uid=name,
            x=along(frame, x),
            y=finite(frame[name]),
            mode="lines+markers" if len(frame) <= 60 else "lines",
            line={"color": CATEGORICAL[index], "width": 2},
            marker={"size": 5},
            name=METRICS[name].label,
            hovertemplate="%{y:.4g}",
        )
    label_ends(plot)
    if events is not None:
        draw_events(plot, events, x)
        plot.update_traces(showlegend=False, selector=lambda trace: trace.uid.startswith("events-"))
    return plot


def classes(histogram: Any, real: Any = None) -> go.Figure:
    """Share of each class among the generated images ([K], summing to 1) beside that among the
    `real` ones.

    Without the latter a line marks equal frequency of all classes.
    """
    shares = 100 * finite(histogram)
    plot = figure(
        height=300,
        bargap=0.3,
        xaxis={"title": {"text": "Class predicted by the classifier"}, "dtick": 1},
        yaxis={"title": {"text": "Share of the images (%)"}, "rangemode": "tozero"},
        showlegend=True,
    )
    at = np.arange(len(shares))
    bars = [("generated", "Generated", shares, CATEGORICAL[0])]
    if real is not None:
        bars.append(("real", "Real", 100 * finite(real), CATEGORICAL[6]))
    for uid, name, heights, colour in bars:
        bar = {"color": colour, "line": {"width": 0}}
        plot.add_bar(uid=uid, x=at, y=heights, name=name, marker=bar, hovertemplate="%{y:.1f} %")
    if real is None:
        ends, equal = [-0.5, len(shares) - 0.5], [100 / len(shares)] * 2
        line = {"color": MISSING, "width": 2, "dash": "dash"}
        plot.add_scatter(
            uid="equal",
            x=ends,
            y=equal,
            mode="lines",
            name="All equally frequent",
            line=line,
            hoverinfo="skip",
        )
    return plot
