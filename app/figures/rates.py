"""Learning rates of every step: as the schedule sets them, and what the optimizer makes of them."""

from __future__ import annotations

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from app.figures.losses import Axis
from app.figures.template import NETS, figure, finite

_KINDS = (("rate", "as scheduled", {"width": 2, "dash": "dash"}), ("effective", "effective", {"width": 1.5}))


def rates(frame: pd.DataFrame, *, x: Axis = "step") -> go.Figure:
    """Nominal and effective rates of both networks on a logarithmic axis, from `db.series.step_series`; what is not positive is a gap."""
    plot = figure(
        height=460,
        xaxis={"title": {"text": "Step" if x == "step" else "Epochs passed"}},
        yaxis={"title": {"text": "Learning rate"}, "type": "log", "exponentformat": "e"},
        showlegend=True,
    )
    at = frame[x].to_numpy(dtype=np.float64)
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
    return plot
