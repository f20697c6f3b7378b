"""What stands for traces of WebGL until it has started, which takes a second without a GPU."""

from __future__ import annotations

from typing import Any

import numpy as np
import plotly.graph_objects as go

from ganboard.worker.figures.template import finite

POINTS = 300  # of each trace
_OF_POINTS = ("text", "customdata", "hovertemplate", "meta")  # a sketch answers no pointer


def sketch(plot: go.Figure) -> list[dict[str, Any]]:
    """The traces of `plot`, those of WebGL as SVG: of many dots some, the outermost among them so
    that the axes stay, and no line of many points. Empty without WebGL."""
    if not any(trace.type == "scattergl" for trace in plot.data):
        return []
    found = []
    for trace in plot.data:
        x, y = finite(trace.x), finite(trace.y)
        if len(x) > POINTS and trace.mode != "markers":
            continue
        look = {k: v for k, v in trace.to_plotly_json().items() if k not in _OF_POINTS}
        some = _some(x, y)
        found.append(look | {"type": "scatter", "x": x[some], "y": y[some], "hoverinfo": "skip"})
    return found


def _some(x: Any, y: Any) -> Any:
    """Positions of at most `POINTS` and the outermost points, in their order."""
    if len(x) <= POINTS:
        return np.arange(len(x))
    known = np.flatnonzero(np.isfinite(x) & np.isfinite(y))
    if not known.size:
        return known
    every = np.linspace(0, known.size - 1, POINTS, dtype=int)
    outermost = [place(axis[known]) for axis in (x, y) for place in (np.argmin, np.argmax)]
    return known[np.unique([*every, *outermost])]
