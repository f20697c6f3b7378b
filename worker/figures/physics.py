"""Generated showers beside real ones: mean profiles, spectrum, sampling fraction, and how
observables go together."""

from __future__ import annotations

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from ganboard.gan.models.gan3d.evaluation.validation import Curve, Validation
from ganboard.gan.models.gan3d.observables import CORRELATED
from ganboard.worker.figures.palette import CATEGORICAL
from ganboard.worker.figures.template import figure, finite

TITLES = {
    "sampling_fraction": (
        "Sampling fraction",
        "Energy of the particle, GeV",
        "Sum of the cells / energy",
    ),
    "shape.x": ("Mean profile along x", "Cell", "GeV"),
    "shape.y": ("Mean profile along y", "Cell", "GeV"),
    "shape.z": ("Mean profile along z, the depth", "Layer", "GeV"),
    "spectrum": ("Energies of cells", "log10 of a cell's energy in GeV", "Cells of an event"),
    "sparsity": ("Share of cells above a threshold", "log10 of the threshold in GeV", "Share"),
    "peak.x": ("Highest cell along x", "Cell", "Share of events"),
    "peak.y": ("Highest cell along y", "Cell", "Share of events"),
    "peak.z": ("Highest cell along z", "Layer", "Share of events"),
}
_REAL, _GENERATED = CATEGORICAL[1], CATEGORICAL[0]
_LOGARITHMIC = ("spectrum", "sparsity")
_FLAT = 0.01  # of the largest change: less says nothing


def curve(name: str, pair: Curve, *, log_y: bool = False) -> go.Figure:
    """One of TITLES of real and of generated showers."""
    _, x, y = TITLES[name]
    axis = {"title": {"text": y}, "type": "log" if log_y else "linear"}
    across = {"title": {"text": x}} | ({"range": _statistics(pair)} if name in _LOGARITHMIC else {})
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


def overview(found: Validation) -> go.Figure:
    """All of TITLES that were found, three in a row."""
    names = [name for name in TITLES if name in found.curves]
    plot = make_subplots(
        -(-len(names) // 3),
        3,
        subplot_titles=[TITLES[name][0] for name in names],
        horizontal_spacing=0.09,
        vertical_spacing=0.13,
    )
    for place, name in enumerate(names):
        at = {"row": place // 3 + 1, "col": place % 3 + 1}
        for trace in curve(name, found.curves[name]).data:
            plot.add_trace(
                trace.update(
                    legendgroup=trace.uid, showlegend=not place, uid=f"{name}-{trace.uid}"
                ),
                **at,
            )
        reach = _statistics(found.curves[name]) if name in _LOGARITHMIC else None
        plot.update_xaxes(title_text=TITLES[name][1], range=reach, **at)
        plot.update_yaxes(title_text=TITLES[name][2], **at)
    return plot.update_layout(
        height=820, template=None, hovermode="x unified", margin={"t": 90}, legend={"y": 1.06}
    )


def _statistics(pair: Curve) -> list[float] | None:
    """The abscissae from where one of the curves leaves its first value: cells begin decades below
    those of any shower."""
    at, both = finite(pair.x), np.nan_to_num(np.stack([finite(pair.real), finite(pair.generated)]))
    change = np.abs(both - both[:, :1])
    moved = (change > _FLAT * change.max()).any(0)
    return [float(at[max(int(moved.argmax()) - 2, 0)]), float(at[-1])] if moved.any() else None


def correlations(found: Validation) -> tuple[go.Figure, go.Figure]:
    """The correlation matrices of real and of generated showers."""
    plots = []
    for uid, matrix in (("real", found.real), ("generated", found.generated)):
        plot = figure(height=360, hovermode="closest", yaxis={"autorange": "reversed"})
        plot.add_heatmap(
            uid=uid,
            x=CORRELATED,
            y=CORRELATED,
            z=[finite(row) for row in matrix],
            zmin=-1,
            zmax=1,
            colorscale="RdBu",
            hovertemplate="%{y} and %{x}: %{z:.2f}<extra></extra>",
            colorbar={"thickness": 12, "outlinewidth": 0},
        )
        plots.append(plot)
    return plots[0], plots[1]
