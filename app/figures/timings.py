"""What an epoch costs: seconds, with the compiling it contained, and images per second."""

from __future__ import annotations

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from app.figures.template import figure, finite, thin
from app.theme.palette import CATEGORICAL

TRAINING, COMPILING = CATEGORICAL[0], CATEGORICAL[5]


def seconds(frame: pd.DataFrame) -> go.Figure:
    """Seconds of each epoch as bars: its training steps, and stacked on them tracing and compiling."""
    plot = figure(
        barmode="stack", bargap=0.25, xaxis={"title": {"text": "Epoch"}}, yaxis={"title": {"text": "Seconds"}, "rangemode": "tozero"}
    )
    rows = thin(frame, 300)
    at = rows["epoch"].to_numpy(dtype=np.float64)
    for column, name, colour in (("seconds", "Training steps", TRAINING), ("compile_seconds", "Tracing and compiling", COMPILING)):
        plot.add_bar(
            uid=column, x=at, y=finite(rows[column]), name=name, marker={"color": colour, "line": {"width": 0}}, hovertemplate="%{y:.2f} s"
        )
    return plot


def throughput(frame: pd.DataFrame) -> go.Figure:
    """Real images per second of each epoch's training steps, compiling left out."""
    plot = figure(
        xaxis={"title": {"text": "Epoch"}}, yaxis={"title": {"text": "Images per second"}, "rangemode": "tozero"}, showlegend=False
    )
    rows = thin(frame)
    plot.add_scatter(
        uid="rate",
        x=rows["epoch"].to_numpy(dtype=np.float64),
        y=finite(rows["images_per_second"]),
        mode="lines+markers" if len(rows) <= 60 else "lines",
        line={"color": TRAINING, "width": 2},
        marker={"size": 5},
        hovertemplate="%{y:,.0f} images/s",
        name="Images per second",
    )
    return plot
