"""The interval of an effect by number of pairs, beside the range in which a claim holds."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import plotly.graph_objects as go

from ganboard.worker.figures.palette import CATEGORICAL
from ganboard.worker.figures.template import figure, finite, plain

Floats = npt.NDArray[np.float64]
HEIGHT = 340
HOLDS = "rgba(47, 158, 143, 0.16)"
LINE = "#2f9e8f"


def shrinking(
    *,
    label: str,
    pairs: Sequence[int],
    effects: Floats,
    means: Floats,
    lows: Floats,
    highs: Floats,
    holds: tuple[float, float],
    planned: int,
    unit: str,
) -> go.Figure:
    """The effect of each of `pairs` as a dot, and from the third one on mean and interval after it;
    the range `holds` (either end may be infinite) is shaded, its ends are lines. `unit` follows
    numbers, such as ×."""
    limits = _view(effects, lows, highs, holds)
    plot = figure(
        height=HEIGHT,
        xaxis={
            "title": {"text": "Pairs counted"},
            "range": [0.5, planned + 0.5],
            "dtick": 1 if planned <= 20 else None,
        },
        yaxis={"title": {"text": plain(f"{label} ({unit})" if unit else label)}, "range": limits},
        legend={"orientation": "h", "y": 1.02, "yanchor": "bottom"},
        margin={"t": 40},
    )
    low, high = (
        end if math.isfinite(end) else limit for end, limit in zip(holds, limits, strict=True)
    )
    plot.add_shape(
        type="rect", xref="paper", x0=0, x1=1, y0=low, y1=high, fillcolor=HOLDS, line_width=0,
        layer="below",
    )  # fmt: skip
    for end in holds:
        if math.isfinite(end) and end != 0.0:
            plot.add_shape(
                type="line", xref="paper", x0=0, x1=1, y0=end, y1=end,
                line={"color": LINE, "width": 1.5, "dash": "dash"},
            )  # fmt: skip
    counts = np.arange(1, len(effects) + 1)
    looks = counts[len(counts) - len(means) :]
    shown = np.isfinite(highs)
    plot.add_scatter(
        x=looks[shown],
        y=finite(means[shown]),
        error_y={
            "type": "data",
            "symmetric": False,
            "array": (highs - means)[shown],
            "arrayminus": (means - lows)[shown],
            "thickness": 2,
            "width": 5,
        },
        mode="markers",
        name="Mean with interval",
        marker={"size": 9, "color": CATEGORICAL[0]},
        customdata=np.stack((lows[shown], highs[shown]), axis=-1),
        hovertemplate=(
            f"%{{x}} pairs: %{{y:.4g}}{unit}, %{{customdata[0]:.4g}} to"
            f" %{{customdata[1]:.4g}}{unit}<extra></extra>"
        ),
    )
    plot.add_scatter(
        x=counts,
        y=finite(effects),
        mode="markers",
        name="One pair",
        text=[f"Pair {number}" for number in pairs],
        marker={"size": 7, "color": CATEGORICAL[1], "symbol": "circle-open"},
        hovertemplate=f"%{{text}}: %{{y:.4g}}{unit}<extra></extra>",
    )
    return plot


def _view(effects: Floats, lows: Floats, highs: Floats, holds: tuple[float, float]) -> list[float]:
    """A range with the claimed line and the effects, and of wide intervals at most three times as
    much."""
    ends = [end for end in holds if math.isfinite(end) and end != 0.0]
    known = np.concatenate((effects[np.isfinite(effects)], ends))
    if not len(known):
        return [0.0, 1.0]
    least, most = float(known.min()), float(known.max())
    span = max(most - least, 0.05 * max(abs(least), abs(most)), 1e-9)
    inner = np.concatenate((lows[np.isfinite(highs)], highs[np.isfinite(highs)]))
    if len(inner):
        least = max(min(least, float(inner.min())), least - 2 * span)
        most = min(max(most, float(inner.max())), most + 2 * span)
    span = max(most - least, span)
    bottom = least - 0.12 * span
    return [max(0.0, bottom) if least >= 0 else bottom, most + 0.12 * span]
