"""Generated showers beside real ones: mean profiles, spectrum, sampling fraction, and how observables go together."""

from __future__ import annotations

import numpy as np
import plotly.graph_objects as go

from app.figures.template import figure, finite
from app.theme.palette import CATEGORICAL
from gan.models.gan3d.observables import CORRELATED
from gan.models.gan3d.validation import Curve, Validation

TITLES = {
    "sampling_fraction": ("Sampling fraction", "Energy of the particle, GeV", "Sum of the cells / energy"),
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
_FLAT = 0.01  # of the largest change: less says nothing


def curve(name: str, pair: Curve, *, log_y: bool = False) -> go.Figure:
    """One of TITLES of real and of generated showers."""
    _, x, y = TITLES[name]
    axis = {"title": {"text": y}, "type": "log" if log_y else "linear"}
    across = {"title": {"text": x}} | ({"range": _told(pair)} if name in ("spectrum", "sparsity") else {})
    plot = figure(height=260, xaxis=across, yaxis=axis, showlegend=True)
    for uid, words, values, colour, dash in (
        ("real", "Real", pair.real, _REAL, "solid"),
        ("generated", "Generated", pair.generated, _GENERATED, "dot"),
    ):
        line = {"color": colour, "width": 2, "dash": dash}
        plot.add_scatter(uid=uid, x=finite(pair.x), y=finite(values), mode="lines", name=words, line=line, hovertemplate="%{y:.4g}")
    return plot


def _told(pair: Curve) -> list[float] | None:
    """The abscissae from where one of the curves leaves its first value: cells begin decades below those of any shower."""
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
