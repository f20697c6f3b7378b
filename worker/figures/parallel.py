"""Parallel coordinates: from the settings of many runs to what they reached, one line per run."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import plotly.graph_objects as go

from ganboard.worker.figures.template import figure, plain

LOG_RATIO = 10  # a range over more than this is drawn on a logarithmic axis
TICKS = 8  # values that an axis names one by one
GOOD, POOR, BEST = "#0a64e1", "#9aa7b5", "#e45d0d"  # can be seen on light and dark grounds
# the colour scale goes from 0 (good) to 1 (poor), and has the colour of the best beyond _EDGE
_EDGE, _MARK = 1.1, 1.2


def coordinates(
    axes: Mapping[str, Sequence[Any]], *, coloured: str, less_is_better: bool | None
) -> go.Figure:
    """A line per run through its value on every axis; `axes` are equally long and complete, those
    of measures finite numbers.

    Lines have the colour of their value on the axis `coloured`, which is numbers; if it has a
    better end, the best line stands out.
    """
    place, (at, text) = positions(axes[coloured])
    span = float(np.ptp(place)) or 1.0
    start, sign = (place.max(), -1) if less_is_better is False else (place.min(), 1)
    shades = sign * (place - start) / span
    if less_is_better is not None:
        shades[shades.argmin()] = _MARK
    plot = figure(
        height=460, dragmode=False, hovermode=False, margin={"l": 60, "r": 40, "t": 60, "b": 24}
    )
    plot.add_parcoords(
        uid="runs",
        dimensions=[_dimension(name, values) for name, values in axes.items()],
        labelside="top",
        line={
            "color": shades,
            "cmin": 0,
            "cmax": _MARK,
            "colorscale": [[0, GOOD], [_EDGE / _MARK, POOR], [_EDGE / _MARK, BEST], [1, BEST]],
            "showscale": True,
            "colorbar": {
                "title": {"text": plain(coloured), "side": "right"},
                "tickvals": [*(sign * (at - start) / span), _MARK],
                "ticktext": [*text, "best"],
                "thickness": 12,
                "outlinewidth": 0,
            },
        },
        unselected={"line": {"opacity": 0.08}},
    )
    return plot


def _dimension(name: str, values: Sequence[Any]) -> dict[str, Any]:
    place, (at, text) = positions(values)
    low, high = float(min(place.min(), at.min())), float(max(place.max(), at.max()))
    margin = 0.5 if high == low else 0.0
    return {
        "label": plain(name),
        "values": place,
        "range": [low - margin, high + margin],
        "tickvals": at,
        "ticktext": text,
    }


def positions(
    values: Sequence[Any],
) -> tuple[npt.NDArray[np.float64], tuple[npt.NDArray[np.float64], list[str]]]:
    """Position of each value on its axis, and the axis's ticks as positions and labels. Numbers are
    placed by size, or its logarithm where the largest is more than LOG_RATIO times the smallest;
    all else by the alphabet.
    """
    if any(isinstance(value, bool) or not isinstance(value, int | float) for value in values):
        names = [plain(_word(value)) for value in values]
        order = sorted(set(names))
        return np.array([order.index(name) for name in names], dtype=np.float64), (
            np.arange(len(order), dtype=np.float64),
            order,
        )
    numbers = np.array(values, dtype=np.float64)
    low, high = float(numbers.min()), float(numbers.max())
    log = low > 0 and high / low > LOG_RATIO
    own = np.unique(numbers)
    gaps = np.diff(np.log(own) if log else own)
    apart = len(own) <= TICKS and not (gaps < gaps.sum() / 20).any()
    ticks = own if apart else _decades(low, high) if log else _even(low, high)
    text = [f"{tick:,.0f}" if abs(tick) >= 1000 else f"{tick:.4g}" for tick in ticks]
    return (np.log10(numbers), (np.log10(ticks), text)) if log else (numbers, (ticks, text))


def _word(value: Any) -> str:
    if isinstance(value, bool):
        return "on" if value else "off"
    return "none" if value is None else f"{value:g}" if isinstance(value, float) else str(value)


def _decades(low: float, high: float) -> npt.NDArray[np.float64]:
    """1, 2 and 5 times the powers of ten from just below `low` to just above `high`; the powers
    alone over many decades."""
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    steps = (1, 2, 5) if last - first <= 3 else (1,)
    ticks = np.array([step * 10.0**power for power in range(first, last + 1) for step in steps])
    inside: npt.NDArray[np.float64] = ticks[
        (ticks >= ticks[ticks <= low].max()) & (ticks <= ticks[ticks >= high].min())
    ]
    return inside


def _even(low: float, high: float) -> npt.NDArray[np.float64]:
    """About five round numbers from `low` to `high`."""
    rough = (high - low) / 5
    unit = 10.0 ** math.floor(math.log10(rough))
    step = next(factor * unit for factor in (1, 2, 5, 10) if factor * unit >= rough)
    return step * np.arange(math.ceil(low / step), math.floor(high / step) + 1, dtype=np.float64)
