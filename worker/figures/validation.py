"""Generated examples beside real ones: the curves that a model declares, and how its observables go
together."""

from __future__ import annotations

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from ganboard.gan.settings.validation import Curve, CurveSpec, Validation, ValidationSpec
from ganboard.worker.figures.palette import CATEGORICAL
from ganboard.worker.figures.template import figure, finite

_REAL, _GENERATED = CATEGORICAL[1], CATEGORICAL[0]
_FLAT = 0.01  # of the largest change: less says nothing


def curve(about: CurveSpec, pair: Curve, *, log_y: bool = False) -> go.Figure:
    """A curve of real and of generated examples."""
    axis = {"title": {"text": about.y}, "type": "log" if log_y else "linear"}
    reach = _moving(pair) if about.begins_late else None
    across = {"title": {"text": about.x}, "range": reach}
    plot = figure(height=260, xaxis=across, yaxis=axis, showlegend=True)
    for uid, text, values, colour, dash in (
        ("real", "Real", pair.real, _REAL, "solid"),
        ("generated", "Generated", pair.generated, _GENERATED, "dot"),
    ):
        line = {"color": colour, "width": 2, "dash": dash}
        plot.add_scatter(
            uid=uid,
            x=finite(pair.x),
            y=finite(values),
            mode="lines",
            name=text,
            line=line,
            hovertemplate="%{y:.4g}",
        )
    return plot


def overview(declared: ValidationSpec, found: Validation) -> go.Figure:
    """All declared curves that were found, three in a row."""
    names = [name for name in declared.curves if name in found.curves]
    plot = make_subplots(
        -(-len(names) // 3),
        3,
        subplot_titles=[declared.curves[name].title for name in names],
        horizontal_spacing=0.09,
        vertical_spacing=0.13,
    )
    for place, name in enumerate(names):
        about, at = declared.curves[name], {"row": place // 3 + 1, "col": place % 3 + 1}
        drawn = curve(about, found.curves[name])
        for trace in drawn.data:
            plot.add_trace(
                trace.update(
                    legendgroup=trace.uid, showlegend=not place, uid=f"{name}-{trace.uid}"
                ),
                **at,
            )
        plot.update_xaxes(title_text=about.x, range=drawn.layout.xaxis.range, **at)
        plot.update_yaxes(title_text=about.y, **at)
    return plot.update_layout(
        height=820, template=None, hovermode="x unified", margin={"t": 90}, legend={"y": 1.06}
    )


def _moving(pair: Curve) -> list[float] | None:
    """The abscissae from where one of the curves leaves its first value."""
    at, both = finite(pair.x), np.nan_to_num(np.stack([finite(pair.real), finite(pair.generated)]))
    change = np.abs(both - both[:, :1])
    moved = (change > _FLAT * change.max()).any(0)
    return [float(at[max(int(moved.argmax()) - 2, 0)]), float(at[-1])] if moved.any() else None


def correlations(declared: ValidationSpec, found: Validation) -> tuple[go.Figure, go.Figure]:
    """The correlation matrices of real and of generated examples."""
    plots = []
    for uid, matrix in (("real", found.real), ("generated", found.generated)):
        plot = figure(height=360, hovermode="closest", yaxis={"autorange": "reversed"})
        plot.add_heatmap(
            uid=uid,
            x=declared.correlated,
            y=declared.correlated,
            z=[finite(row) for row in matrix],
            zmin=-1,
            zmax=1,
            colorscale="RdBu",
            hovertemplate="%{y} and %{x}: %{z:.2f}<extra></extra>",
            colorbar={"thickness": 12, "outlinewidth": 0},
        )
        plots.append(plot)
    return plots[0], plots[1]
