"""What the trainer used of its machine."""

from __future__ import annotations

import pandas as pd
import plotly.graph_objects as go

from app.figures.template import figure, finite
from app.theme.palette import CATEGORICAL

_GIB = 2.0**30
_HEIGHT = 280


def load(frame: pd.DataFrame) -> go.Figure:
    """Percent of the machine's processors, of its memory and, where there is one, of the GPU, from `db.series.samples_frame`."""
    plot = figure(height=_HEIGHT, yaxis={"title": {"text": "Percent of the machine"}, "range": [0, 105]})
    columns = (("cpu_percent", "Processors"), ("memory_percent", "Memory"), ("gpu_percent", "GPU"))
    _lines(plot, frame, columns, 1.0, "%{y:.0f} %")
    return plot


def memory(frame: pd.DataFrame) -> go.Figure:
    """GiB that the trainer holds: resident memory and, where there is one, memory of the GPU."""
    plot = figure(height=_HEIGHT, yaxis={"title": {"text": "GiB"}, "rangemode": "tozero"})
    _lines(plot, frame, (("rss_bytes", "Trainer's memory"), ("gpu_memory_bytes", "GPU memory")), _GIB, "%{y:.2f} GiB")
    return plot


def _lines(plot: go.Figure, frame: pd.DataFrame, columns: tuple[tuple[str, str], ...], unit: float, hover: str) -> None:
    times = pd.to_datetime(frame["at"], utc=True).dt.tz_localize(None)
    for index, (column, name) in enumerate(columns):
        values = finite(frame[column].astype(float))
        if pd.notna(values).any():
            line = {"color": CATEGORICAL[index], "width": 2}
            plot.add_scatter(uid=column, x=times, y=values / unit, mode="lines", line=line, name=name, hovertemplate=hover)
    plot.update_layout(showlegend=True, xaxis={"title": {"text": "Time (UTC)"}})
