"""What the trainer used of its machine."""

from __future__ import annotations

import pandas as pd
import plotly.graph_objects as go

from ganboard.worker.figures.curves import label_ends
from ganboard.worker.figures.palette import CATEGORICAL
from ganboard.worker.figures.template import along, course, draw_events, finite, plain

_GIB = 2.0**30
_HEIGHT = 280


def load(frame: pd.DataFrame, events: pd.DataFrame | None = None) -> go.Figure:
    """Percent of the machine's processors, of its memory and, where there is one, of the GPU, from
    `db.curves.series.samples_frame`."""
    plot = course("time", "Use of the machine (%)", height=_HEIGHT, showlegend=True)
    plot.update_yaxes(range=[0, 105])
    columns = (("cpu_percent", "Processors"), ("memory_percent", "Memory"), ("gpu_percent", "GPU"))
    return _lines(plot, frame, columns, 1.0, "%{y:.0f} %", events)


def memory(frame: pd.DataFrame, events: pd.DataFrame | None = None) -> go.Figure:
    """GiB that the trainer holds: resident memory and, where there is one, memory of the GPU."""
    plot = course("time", "Memory (GiB)", height=_HEIGHT, showlegend=True)
    plot.update_yaxes(rangemode="tozero")
    columns = (("rss_bytes", "Trainer's memory"), ("gpu_memory_bytes", "GPU memory"))
    return _lines(plot, frame, columns, _GIB, "%{y:.2f} GiB", events)


def by_process(frame: pd.DataFrame, column: str, title: str, unit: float, form: str) -> go.Figure:
    """One curve for each name in `frame` (at, name, `column`); values are divided by `unit`, and
    `form` is how hovering shows one, such as "%{y:.0f} %"."""
    plot = course("time", title, height=_HEIGHT, showlegend=True)
    plot.update_yaxes(rangemode="tozero")
    names = list(dict.fromkeys(frame.loc[frame[column].notna(), "name"]))
    for index, name in enumerate(names[: len(CATEGORICAL)]):
        rows = frame[frame["name"] == name]
        times = pd.to_datetime(rows["at"], utc=True).dt.tz_localize(None)
        plot.add_scatter(
            uid=f"{column}-{index}",
            x=along(rows.assign(time=times), "time"),
            y=finite(rows[column].astype(float)) / unit,
            mode="lines",
            line={"color": CATEGORICAL[index], "width": 2},
            name=plain(name),
            hovertemplate=form,
        )
    return plot


def _lines(
    plot: go.Figure,
    frame: pd.DataFrame,
    columns: tuple[tuple[str, str], ...],
    unit: float,
    hover: str,
    events: pd.DataFrame | None,
) -> go.Figure:
    times = along(
        frame.assign(time=pd.to_datetime(frame["at"], utc=True).dt.tz_localize(None)), "time"
    )
    for index, (column, name) in enumerate(columns):
        values = finite(frame[column].astype(float))
        if pd.notna(values).any():
            line = {"color": CATEGORICAL[index], "width": 2}
            plot.add_scatter(
                uid=column,
                x=times,
                y=values / unit,
                mode="lines",
                line=line,
                name=name,
                hovertemplate=hover,
            )
    label_ends(plot)
    if events is not None:
        draw_events(plot, events, "time")
    return plot
