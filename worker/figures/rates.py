"""Learning rates of every step: as the schedule sets them, and what the optimizer makes of them."""

from __future__ import annotations

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from ganboard.worker.figures.template import NETS, Axis, along, course, draw_events, finite

_KINDS = (
    ("rate", "as scheduled", {"width": 2, "dash": "dash"}),
    ("effective", "effective", {"width": 1.5}),
)


def rates(
    frame: pd.DataFrame,
    *,
    x: Axis = "step",
    log_x: bool = False,
    events: pd.DataFrame | None = None,
) -> go.Figure:
    """Nominal and effective rates of both networks on a logarithmic axis, from
    `db.curves.series.step_series`; what is not positive is a gap."""
    plot = course(x, "Learning rate", log_x=log_x, log_y=True, height=460, showlegend=True)
    plot.update_yaxes(exponentformat="e")
    at = along(frame, x)
    for net, name, colour in NETS:
        for kind, word, line in _KINDS:
            values = finite(frame[f"{net}_{kind}"])
            positive = np.where(values > 0, values, np.nan)
            plot.add_scatter(
                uid=f"{net}_{kind}",
                x=at,
                y=positive,
                mode="lines",
                line={"color": colour, **line},
                name=f"{name}, {word}",
                hovertemplate="%{y:.3e}",
            )
    if events is not None:
        draw_events(plot, events, x)
    return plot
