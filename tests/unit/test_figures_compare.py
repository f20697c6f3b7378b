"""Several runs in one figure."""

from __future__ import annotations

import numpy as np
import pandas as pd

from app.figures import compare

RUNS = [
    compare.Series("a1", "<b>first</b>", "#111111"),
    compare.Series("b2", "second", "#222222"),
    compare.Series("c3", "third", "#333333"),
]


def frames() -> dict[str, pd.DataFrame]:
    lengths = {"a1": 3, "b2": 5, "c3": 0}
    return {
        key: pd.DataFrame({"epoch": np.arange(1, n + 1), "g_loss": np.ones(n), "d_loss": np.full(n, 2.0)}) for key, n in lengths.items()
    }


def test_every_run_has_its_colour_and_an_escaped_name() -> None:
    plot = compare.losses(RUNS, frames(), net="d")
    assert [(trace.uid, trace.line.color, len(trace.x)) for trace in plot.data] == [
        ("a1", "#111111", 3),
        ("b2", "#222222", 5),
        ("c3", "#333333", 0),
    ]
    assert plot.data[0].name == "&lt;b&gt;first&lt;/b&gt;"
    assert set(plot.data[1].y) == {2.0}


def test_smoothing_adds_a_pale_trace_of_the_same_colour() -> None:
    plot = compare.losses(RUNS[:1], frames(), net="g", smoothing=0.9, log_y=True)
    assert [(trace.uid, trace.line.color, trace.showlegend) for trace in plot.data] == [
        ("a1-raw", "#111111", False),
        ("a1", "#111111", None),
    ]
    assert plot.layout.yaxis.type == "log"


def test_bars_tell_the_ratio_to_the_baseline() -> None:
    plot = compare.bars(RUNS, {"a1": 2.0, "b2": 1.0, "c3": None}, unit="Seconds", baseline="a1")
    bar = plot.data[0]
    assert list(bar.text) == ["2.00 · baseline", "1.00 · 0.50×", ""]
    assert np.array_equal(bar.x, [2, 1, np.nan], equal_nan=True)
    assert list(plot.layout.yaxis.ticktext) == ["&lt;b&gt;first&lt;/b&gt;", "second", "third"]
    assert list(bar.marker.color) == ["#111111", "#222222", "#333333"]


def test_bars_without_a_baseline_value_or_any_value() -> None:
    assert list(compare.bars(RUNS, {"a1": None, "b2": 1500.0}, unit="x", baseline="a1", digits=0).data[0].text) == ["", "1,500", ""]
    assert list(compare.bars(RUNS, {}, unit="x", baseline="a1").layout.xaxis.range) == [0, 1.3]


def test_same_names_are_different_bars() -> None:
    twins = [compare.Series("a", "same", "#111111"), compare.Series("b", "same", "#222222")]
    assert compare.bars(twins, {"a": 1.0, "b": 2.0}, unit="x", baseline="a").data[0].y.tolist() == [0, 1]


def test_quality_of_every_run_even_without_a_judgement() -> None:
    judged = pd.DataFrame({"epoch": [1, 2], "training_seconds": [3.0, 6.0], "fid": [9.0, np.inf]})
    plot = compare.quality(RUNS[:2], {"a1": judged, "b2": judged[:0]}, measure="fid", x="training_seconds")
    assert [(trace.uid, trace.line.color, list(trace.x)) for trace in plot.data] == [("a1", "#111111", [3, 6]), ("b2", "#222222", [])]
    assert np.array_equal(plot.data[0].y, [9, np.nan], equal_nan=True)
    assert plot.data[0].name == "&lt;b&gt;first&lt;/b&gt;"
    assert (plot.layout.xaxis.title.text, plot.layout.yaxis.title.text) == ("Training seconds", "FID")


def test_shares_of_the_time_are_stacked_to_a_hundred() -> None:
    shares = {"a1": {"compute_seconds": 0.75, "host_seconds": 0.25}}
    plot = compare.parts(RUNS[:2], shares)
    assert plot.layout.barmode == "stack"
    heights = np.array([bar.x for bar in plot.data])
    assert np.nansum(heights[:, 0]) == 100
    assert np.isnan(heights[:, 1]).all()
    assert list(plot.layout.yaxis.ticktext) == ["&lt;b&gt;first&lt;/b&gt;", "second"]
