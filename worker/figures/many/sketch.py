"""What stands for traces of WebGL until it has started, which takes a second without a GPU."""

from __future__ import annotations

from typing import Any

import numpy as np
import plotly.graph_objects as go

from ganboard.worker.figures.template import finite

POINTS = 300  # of all traces together
_OF_POINTS = ("text", "customdata", "hovertemplate", "meta")  # a sketch answers no pointer


def sketch(plot: go.Figure) -> list[dict[str, Any]]:
    """The traces of `plot`, those of WebGL as SVG: of many dots some, the outermost ones beside
    them so that the axes stay, and no line of many points. Empty without WebGL."""
    if not any(trace.type == "scattergl" for trace in plot.data):
        return []
    share = POINTS // max(1, sum(trace.mode == "markers" for trace in plot.data))
    found = []
    for trace in plot.data:
        x, y = finite(trace.x), finite(trace.y)
        if trace.mode == "markers":
            some = _some(x, y, share)
            x, y = x[some], y[some]
        elif len(x) > POINTS:
            continue
        look = {k: v for k, v in trace.to_plotly_json().items() if k not in _OF_POINTS}
        found.append(look | {"type": "scatter", "x": x, "y": y, "hoverinfo": "skip"})
    return found


def _some(x: Any, y: Any, count: int) -> Any:
    """Positions of `count` points and the outermost ones in their order, or of all if there are no
    more."""
    if len(x) <= count:
        return np.arange(len(x))
    known = np.flatnonzero(np.isfinite(x) & np.isfinite(y))
    if not known.size:
        return known
    every = np.linspace(0, known.size - 1, count, dtype=int)
    outermost = [place(axis[known]) for axis in (x, y) for place in (np.argmin, np.argmax)]
    return known[np.unique([*every, *outermost])]
