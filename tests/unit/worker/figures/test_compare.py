"""Several runs in one figure."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from ganboard.worker.figures import compare
from ganboard.worker.figures.palette import CATEGORICAL

RUNS = [
    compare.Series("a1", "<b>first</b>", 0),
    compare.Series("b2", "second", 1),
    compare.Series("c3", "third", 10),
]
COLOURS = [CATEGORICAL[0], CATEGORICAL[1], CATEGORICAL[2]]


def frames() -> dict[str, pd.DataFrame]:
    """Curves apart from each other; the third run has none yet."""
    lengths = {"a1": 3, "b2": 5, "c3": 0}
    apart = {"a1": 0.0, "b2": 1.0, "c3": 0.0}
    return {
        key: pd.DataFrame(
            {
                "epoch": np.arange(1, n + 1),
                "time": np.datetime64("2026-01-01T00:00:00.000", "ms") + np.arange(n),
                "g_loss": np.full(n, 1.0 + apart[key]),
                "d_loss": np.full(n, 2.0 + apart[key]),
                "g_smooth": np.full(n, 1.5 + apart[key]),
            }
        )
        for key, n in lengths.items()
    }


def test_every_run_has_its_colour_and_dash_and_an_escaped_name() -> None:
    plot = compare.losses(RUNS, frames(), net="d")
    assert [
        (trace.uid, trace.line.color, trace.line.dash, len(trace.x)) for trace in plot.data
    ] == [
        ("a1", COLOURS[0], "solid", 3),
        ("b2", COLOURS[1], "solid", 5),
        ("c3", COLOURS[2], "dash", 0),
    ]
    assert plot.data[0].name == "&lt;b&gt;first&lt;/b&gt;"
    assert set(plot.data[1].y) == {3.0}


def test_a_curve_that_covers_another_is_dashed_over_its_broad_line() -> None:
    same = frames()
    same["b2"]["g_loss"] = 1.0
    for order in (RUNS, RUNS[::-1]):
        plot = compare.losses(order, same, net="g")
        drawn = [trace.uid for trace in plot.data if len(trace.x)]
        lines = {trace.uid: trace.line for trace in plot.data}
        assert drawn == ["a1", "b2"]
        assert (lines["a1"].width, lines["a1"].dash) == (5, "solid")
        assert (lines["b2"].width, lines["b2"].dash) == (2, "dash")
        assert [lines[key].color for key in ("a1", "b2")] == COLOURS[:2]


def test_styles_do_not_depend_on_who_else_is_compared() -> None:
    alone, among = (
        compare.losses(RUNS[2:], frames(), net="g"),
        compare.losses(RUNS[::-1], frames(), net="g"),
    )
    assert alone.data[0].line == among.data[0].line


def test_smoothed_curves_stand_before_the_pale_losses() -> None:
    plot = compare.losses(RUNS[:1], frames(), net="g", smoothed=True, log_y=True)
    assert [
        (trace.uid, trace.line.color, trace.showlegend, set(trace.y)) for trace in plot.data
    ] == [("a1-raw", COLOURS[0], False, {1.0}), ("a1", COLOURS[0], None, {1.5})]
    assert plot.layout.yaxis.type == "log"


def test_axes() -> None:
    assert compare.losses(RUNS, frames(), net="g", log_x=True).layout.xaxis.type == "log"
    over_time = compare.losses(RUNS, frames(), net="g", x="time", log_x=True)
    assert over_time.layout.xaxis.type == "date"
    assert over_time.data[0].x.dtype == np.dtype("datetime64[ms]")
    low, high = compare.losses(RUNS, frames(), net="g", usual=(1.0, 3.0)).layout.yaxis.range
    assert (low, high) == pytest.approx((0.9, 3.1))


def test_bars_show_the_ratio_to_the_baseline() -> None:
    plot = compare.bars(RUNS, {"a1": 2.0, "b2": 1.0, "c3": None}, unit="Seconds", baseline="a1")
    bar = plot.data[0]
    assert list(bar.text) == ["2.00 · baseline", "1.00 · 0.50×", ""]
    assert np.array_equal(bar.x, [2, 1, np.nan], equal_nan=True)
    assert list(plot.layout.yaxis.ticktext) == ["&lt;b&gt;first&lt;/b&gt;", "second", "third"]
    assert list(bar.marker.color) == COLOURS
    assert list(bar.marker.pattern.shape) == ["", "", "/"]


def test_bars_without_a_baseline_value_or_any_value() -> None:
    assert list(
        compare.bars(RUNS, {"a1": None, "b2": 1500.0}, unit="x", baseline="a1", digits=0)
        .data[0]
        .text
    ) == ["", "1,500", ""]
    assert list(compare.bars(RUNS, {}, unit="x", baseline="a1").layout.xaxis.range) == [0, 1.4]


def test_why_a_bar_is_missing_stands_in_its_place() -> None:
    bar = compare.bars(
        RUNS,
        {"a1": 3.0, "b2": None},
        unit="s",
        baseline="a1",
        absent={"b2": "not reached", "c3": "not evaluated"},
    ).data[0]
    assert (list(bar.text), list(bar.x)) == (
        ["3.00 · baseline", "not reached", "not evaluated"],
        [3, 0, 0],
    )


def test_same_names_are_different_bars_and_long_ones_are_cut() -> None:
    twins = [
        compare.Series("a", "same", 1),
        compare.Series("b", "same", 2),
        compare.Series("c", "x" * 60, 3),
    ]
    plot = compare.bars(twins, {"a": 1.0, "b": 2.0}, unit="x", baseline="a")
    assert plot.data[0].y.tolist() == [0, 1, 2]
    assert len(plot.layout.yaxis.ticktext[2]) == 28


def test_quality_of_every_run_even_without_an_evaluation() -> None:
    evaluated = pd.DataFrame(
        {"epoch": [1, 2], "training_seconds": [3.0, 6.0], "fid": [9.0, np.inf]}
    )
    plot = compare.quality(
        RUNS[:2],
        {"a1": evaluated, "b2": evaluated[:0]},
        measure="fid",
        x="training_seconds",
        log_y=True,
    )
    assert [(trace.uid, trace.line.color, list(trace.x)) for trace in plot.data] == [
        ("a1", COLOURS[0], [3, 6]),
        ("b2", COLOURS[1], []),
    ]
    assert np.array_equal(plot.data[0].y, [9, np.nan], equal_nan=True)
    assert plot.data[0].name == "&lt;b&gt;first&lt;/b&gt;"
    assert (plot.layout.xaxis.title.text, plot.layout.yaxis.title.text, plot.layout.yaxis.type) == (
        "Training time (s)",
        "FID",
        "log",
    )


def test_shares_of_the_time_are_stacked_to_a_hundred() -> None:
    shares = {"a1": {"compute_seconds": 0.75, "host_seconds": 0.25}}
    plot = compare.parts(RUNS[:2], shares)
    assert plot.layout.barmode == "stack"
    heights = np.array([bar.x for bar in plot.data])
    assert np.nansum(heights[:, 0]) == 100
    assert np.isnan(heights[:, 1]).all()
    assert list(plot.layout.yaxis.ticktext) == ["&lt;b&gt;first&lt;/b&gt;", "second"]
