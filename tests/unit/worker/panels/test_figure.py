"""The charts of panels."""

from __future__ import annotations

import numpy as np
import pytest

from ganboard.worker.figures.compare import Series
from ganboard.worker.panels import figure
from ganboard.worker.panels.board import Panel
from ganboard.worker.panels.points import Points

NAN = np.nan
STEPS = np.arange(1.0, 101.0)
POINTS = Points(STEPS, STEPS, STEPS**2, STEPS, ())


def test_a_smoothed_panel_lies_over_the_range_of_its_values() -> None:
    plot = figure.of_run(Panel(y="x", smoothing=0.9, log_y=True), {"x": POINTS})
    assert [trace.uid for trace in plot.data] == ["raw-low", "raw-high", "value"]
    assert plot.data[-1].mode == "lines"
    assert (plot.layout.yaxis.type, plot.layout.xaxis.title.text) == ("log", "Step")


def test_a_metric_over_another_is_drawn_in_the_order_of_steps() -> None:
    points = Points(STEPS[:3], np.array([2.0, 1.0, 3.0]), np.array([1.0, NAN, 2.0]), STEPS[:3], ())
    panel = Panel(y='"<b>"', x="g_x", smoothing=0.5)
    plot = figure.of_run(panel, {panel.curves[0]: points})
    assert [trace.uid for trace in plot.data] == ["value"]
    assert plot.data[0].x.tolist() == [2, 1, 3]
    assert plot.data[0].mode == "lines+markers"
    assert plot.layout.yaxis.title.text == '"&lt;b&gt;"'


def test_infinite_values_that_were_stored_are_marked() -> None:
    y = np.array([1.0, np.inf, 2.0])
    plot = figure.of_run(Panel(y="g_loss"), {"g_loss": Points(STEPS[:3], STEPS[:3], y, y, ())})
    assert plot.layout.annotations[0].text.startswith("NaN or ∞")


@pytest.mark.parametrize(
    ("value", "log_y", "low", "high"),
    [
        (1e-4, False, 0, 2e-4),
        (-1e-4, False, -2e-4, 0),
        (1e-4, True, None, None),
        (0.0, False, None, None),  # Plotly's own -1 to 1
    ],
)
def test_the_axis_of_a_constant_is_not_from_minus_one_to_one(
    value: float, log_y: bool, low: float | None, high: float | None
) -> None:
    y = np.array([value, NAN, value])
    points = Points(STEPS[:3], STEPS[:3], y, y, ())
    panel = Panel(y="lr", log_y=log_y)
    series = [Series("a", "one", 0), Series("b", "two", 1)]
    for plot in (
        figure.of_run(panel, {"lr": points}),
        figure.of_runs(panel, series, {"lr": {"a": points, "b": points}}),
    ):
        clip = plot.layout.yaxis.autorangeoptions
        assert (clip.clipmin, clip.clipmax) == (low, high)


def test_the_axis_of_what_changes_is_plotlys_own() -> None:
    plot = figure.of_run(Panel(y="x"), {"x": POINTS})
    assert plot.layout.yaxis.autorangeoptions.clipmin is None


def test_runs_keep_their_colours_and_times_are_dates() -> None:
    times = np.array(["2026-01-01", "2026-01-02"], "datetime64[ms]")
    points = Points(STEPS[:2], times, STEPS[:2], STEPS[:2], ())
    series = [Series("b", "<i>two</i>", 1), Series("a", "one", 0), Series("c", "none", 2)]
    panel = Panel(y="fid", x="time", log_x=True)
    plot = figure.of_runs(panel, series, {"fid": {"a": points, "b": points}})
    assert [trace.uid for trace in plot.data] == ["a", "b"]
    assert [trace.line.color for trace in plot.data] == [series[1].colour, series[0].colour]
    assert plot.data[1].name == "&lt;i&gt;two&lt;/i&gt;"
    assert plot.layout.xaxis.type == "date"


def test_several_expressions_of_a_run_have_colours_and_a_legend() -> None:
    panel = Panel(y=("g_loss", "d_loss", "fid"), smoothing=0.9)
    plot = figure.of_run(panel, {"g_loss": POINTS, "fid": POINTS})
    curves = [trace for trace in plot.data if trace.name]
    assert [(trace.uid, trace.name) for trace in curves] == [
        ("value", "g_loss"),
        ("value-2", "fid"),
    ]
    assert len({trace.line.color for trace in curves}) == 2
    # hiding a curve hides the range of its values
    groups = [trace.legendgroup for trace in plot.data]
    assert groups == ["raw"] * 3 + ["raw-2"] * 3
    assert plot.layout.showlegend


def test_several_expressions_of_runs_differ_in_their_dashes() -> None:
    series = [Series("a", "one", 0), Series("b", "two", 9)]
    panel = Panel(y=("g_loss", "d_loss"))
    plot = figure.of_runs(
        panel, series, {"g_loss": {"a": POINTS}, "d_loss": {"a": POINTS, "b": POINTS}}
    )
    *curves, first, second = plot.data
    assert [trace.uid for trace in curves] == ["a", "a-1", "b-1"]
    assert [trace.line.dash for trace in curves] == ["solid", "dash", "dash"]
    assert [trace.line.color for trace in curves] == [series[0].colour] * 2 + [series[1].colour]
    assert [trace.name for trace in curves if trace.showlegend] == ["one", "two"]
    assert curves[1].meta == "d_loss"
    assert [(key.name, key.line.dash, key.legend) for key in (first, second)] == [
        ("g_loss", "solid", "legend2"),
        ("d_loss", "dash", "legend2"),
    ]
