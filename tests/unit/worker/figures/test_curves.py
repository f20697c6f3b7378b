"""Ranges behind smoothed curves, and names at the ends of curves."""

from __future__ import annotations

import numpy as np
import plotly.graph_objects as go
import pytest

from ganboard.worker.figures.curves import LABELLED, draw_range, label_ends
from ganboard.worker.figures.palette import DISCRIMINATOR, GENERATOR, WORDS
from ganboard.worker.figures.template import figure


def curves(*ends: float, log: bool = False) -> go.Figure:
    """A curve for each of these ends; all begin at 1, one of them at 2."""
    plot = figure(yaxis={"type": "log" if log else "linear"})
    for number, end in enumerate(ends):
        start = 2.0 if number == 0 else 1.0
        plot.add_scatter(
            uid=str(number),
            x=[0, 1, 2],
            y=[start, end, np.nan],
            mode="lines",
            name=f"curve {number}",
        )
    return plot


@pytest.mark.parametrize("n", [1, 7, 50, 3001])
def test_every_value_lies_in_its_range(n: int) -> None:
    at = np.arange(n, dtype=np.float64)
    values = np.random.default_rng(n).normal(size=n)
    values[n // 2] = np.nan
    plot = figure()
    draw_range(plot, at, values, GENERATOR, "g")
    low, high = plot.data
    assert (low.uid, high.uid) == ("g-low", "g-high")
    assert len(low.x) <= 402
    known = np.isfinite(values)
    if not known.any():
        assert len(low.x) == 0
        return
    assert (np.interp(at, low.x, low.y)[known] <= values[known]).all()
    assert (np.interp(at, high.x, high.y)[known] >= values[known]).all()
    assert np.isfinite(low.y).all()


def test_a_logarithmic_axis_has_the_range_of_what_it_can_show() -> None:
    plot = figure(yaxis={"type": "log"})
    draw_range(plot, np.arange(6.0), np.array([1.0, -1.0, 2.0, 0.0, 3.0, 4.0]), GENERATOR, "g")
    assert plot.data[0].y.min() == 1


def names(plot: go.Figure) -> list[go.Scatter]:
    return [trace for trace in plot.data if trace.mode == "text"]


def test_names_stand_at_the_last_values_and_hide_with_their_curves() -> None:
    plot = curves(1.0, 3.0)
    plot.data[0].line.color, plot.data[1].line.color = GENERATOR, DISCRIMINATOR
    label_ends(plot)
    assert [list(name.text) for name in names(plot)] == [[" curve 0"], [" curve 1"]]
    assert [(*name.x, *name.y) for name in names(plot)] == [(1, 1.0), (1, 3.0)]
    groups = [trace.legendgroup for trace in plot.data]
    assert groups[:2] == groups[2:] == ["0", "1"]
    assert [name.textposition for name in names(plot)] == ["middle right"] * 2
    assert names(plot)[1].textfont.color == WORDS[DISCRIMINATOR]
    assert plot.layout.margin.r > 50


def test_two_that_end_together_stand_above_each_other() -> None:
    plot = curves(1.51, 1.5)
    label_ends(plot)
    assert [name.textposition for name in names(plot)] == ["top right", "bottom right"]


@pytest.mark.parametrize(
    "ends", [(1.0,), (1.0, 1.01, 1.02), tuple(float(end) for end in range(LABELLED + 1))]
)
def test_the_legend_is_enough_where_names_would_not_fit(ends: tuple[float, ...]) -> None:
    plot = curves(*ends)
    label_ends(plot)
    assert not names(plot)


def test_names_on_a_logarithmic_axis_keep_their_distance_in_decades() -> None:
    plot = curves(1e-4, 1e-1, log=True)
    label_ends(plot)
    assert [name.textposition for name in names(plot)] == ["middle right"] * 2
    none = curves(-1.0, 1.0, log=True)
    label_ends(none)
    assert not names(none)
