"""Loss curves."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

from ganboard.db.curves.reduction import smooth
from ganboard.worker.figures import losses
from ganboard.worker.figures.template import Axis


def frame(n: int = 50, *, smoothing: float = 0.0, **columns: object) -> pd.DataFrame:
    """As `db.curves.series.step_losses` gives it."""
    step = np.arange(1, n + 1)
    times = {
        "training_seconds": step * 0.5,
        "time": np.datetime64("2026-01-01T10:00", "ms") + step * np.timedelta64(500, "ms"),
    }
    values = pd.DataFrame(
        {"step": step, "epoch": step / 10, **times, "g_loss": np.sin(step), "d_loss": np.cos(step)}
        | columns
    )
    for net in "gd":
        values[f"{net}_smooth"] = smooth(values[f"{net}_loss"].to_numpy(dtype=float), smoothing)
    values.attrs["usual"] = (-0.5, 0.75)
    return values


def happened(at: float, level: str = "warning", text: str = "It <b>swings</b>.") -> pd.DataFrame:
    """As `db.curves.series.events_frame` gives it."""
    moment = np.datetime64("2026-01-01T10:00", "ms") + np.timedelta64(int(500 * at), "ms")
    return pd.DataFrame(
        {
            "step": [at],
            "epoch": [at / 10],
            "training_seconds": [at / 2],
            "time": [moment],
            "level": [level],
            "text": [text],
        }
    )


def trace(plot, uid: str):  # type: ignore[no-untyped-def]
    return next(trace for trace in plot.data if trace.uid == uid)


def test_raw_losses_against_steps() -> None:
    data = frame()
    plot = losses.steps(data)
    assert [entry.uid for entry in plot.data if entry.mode == "lines"] == ["g", "d"]
    assert np.array_equal(trace(plot, "g").x, data["step"])
    assert np.array_equal(trace(plot, "d").y, data["d_loss"])
    assert trace(plot, "g").line.color != trace(plot, "d").line.color
    assert plot.layout.yaxis.type == "linear"


def test_smoothed_losses_leave_the_range_of_the_raw_ones_behind() -> None:
    data = frame(smoothing=0.9)
    plot = losses.steps(data, x="epoch", smoothed=True, log_y=True, log_x=True)
    assert [entry.uid for entry in plot.data] == ["g-low", "g-high", "g", "d-low", "d-high", "d"]
    assert np.array_equal(trace(plot, "g").x, data["epoch"])
    assert trace(plot, "g").y.std() < data["g_loss"].std() / 2
    assert trace(plot, "g-high").legendgroup == trace(plot, "g").legendgroup
    assert trace(plot, "g-high").showlegend is False
    assert trace(plot, "g-high").fill == "tonexty"
    assert (plot.layout.xaxis.type, plot.layout.yaxis.type) == ("log", "log")


@pytest.mark.parametrize(
    ("x", "title", "kind"),
    [
        ("step", "Step", "log"),
        ("epoch", "Epoch", "log"),
        ("training_seconds", "Training time (s)", "log"),
        ("time", "Time (UTC)", "date"),
    ],
)
def test_every_axis(x: Axis, title: str, kind: str) -> None:
    data = frame()
    for plot in (losses.steps(data, x=x, log_x=True), losses.epochs(data, x=x, log_x=True)):
        assert (plot.layout.xaxis.title.text, plot.layout.xaxis.type) == (title, kind)
        assert np.array_equal(
            np.asarray(trace(plot, "g").x, dtype=data[x].to_numpy().dtype), data[x].to_numpy()
        )
        assert (x == "time") == ("2026-01-01T10:00:00.5" in plot.to_json(engine="orjson"))


def test_outliers_are_out_of_sight_but_drawn() -> None:
    data = frame(g_loss=[0.5] * 49 + [1000.0])
    plot = losses.steps(data, robust=True)
    # the usual losses and a twentieth more
    assert list(plot.layout.yaxis.range) == pytest.approx([-0.5625, 0.8125])
    assert trace(plot, "g").y[-1] == 1000
    assert losses.steps(data).layout.yaxis.range is None
    assert losses.epochs(data, robust=True).layout.yaxis.range[1] < 800
    # the usual ones are not positive
    assert losses.steps(data, robust=True, log_y=True).layout.yaxis.range is None
    data.attrs["usual"] = (0.1, 10.0)
    assert list(losses.steps(data, robust=True, log_y=True).layout.yaxis.range) == pytest.approx(
        [-1.1, 1.1]
    )


@pytest.mark.parametrize("x", ["step", "epoch", "training_seconds", "time"])
def test_events_are_lines_with_their_words(x: Axis) -> None:
    events = pd.concat(
        [
            happened(10),
            happened(10.1, "error", "It broke."),
            happened(30, "info", "Attempt 2 begins."),
        ],
        ignore_index=True,
    )
    for plot in (
        losses.steps(frame(), x=x, events=events),
        losses.epochs(frame(), x=x, events=events),
    ):
        lines = {line.uid: line for line in plot.data if line.uid.startswith("events")}
        # the first two stand together, and the worse one gives the colour
        assert set(lines) == {"events-error", "events-info"}
        assert lines["events-error"].text[0] == "It &lt;b&gt;swings&lt;/b&gt;.<br>It broke."
        assert (
            len(lines["events-info"].x),
            lines["events-info"].x[2],
            list(lines["events-info"].y),
        ) == (3, None, [0, 1, None])
        assert lines["events-info"].yaxis == "y2"
        assert plot.layout.yaxis2.visible is False
    assert not [
        line
        for line in losses.steps(frame(), x=x, events=events[:0]).data
        if line.uid.startswith("events")
    ]


def test_many_events_in_one_place_are_cut_short() -> None:
    events = pd.concat(
        [happened(10, text=f"event {n} " + "word " * 100) for n in range(9)], ignore_index=True
    )
    [words] = {text for text in losses.steps(frame(), events=events).data[-1].text if text}
    assert words.endswith("<br>and 5 more")
    assert len(words.split("<br>")) == 17


def test_marks_stand_right_on_logarithmic_axes() -> None:
    plot = losses.steps(frame(g_loss=[1.0] * 20 + [np.nan] * 30), log_x=True)
    assert plot.layout.shapes[0].x0 == 21
    assert plot.layout.annotations[0].x == pytest.approx(np.log10(21))
    assert (
        losses.steps(frame(g_loss=[np.nan] * 50), x="time").layout.shapes[0].x0
        == "2026-01-01T10:00:00.500"
    )


@pytest.mark.parametrize("weight", [0.0, 0.5, 0.9, 0.999, 1.0])
def test_smoothing_keeps_a_constant_constant(weight: float) -> None:
    assert smooth(np.full(40, 1.25), weight) == pytest.approx(np.full(40, 1.25), abs=1e-12)


def test_smoothing_is_the_bias_corrected_average_of_adam() -> None:
    values = np.random.default_rng(0).normal(size=30)
    average, expected = 0.0, []
    for t, value in enumerate(values, 1):
        average = 0.8 * average + 0.2 * value
        expected.append(average / (1 - 0.8**t))
    assert smooth(values, 0.8) == pytest.approx(expected)


def test_nan_is_a_gap_that_smoothing_passes_over() -> None:
    smoothed = smooth(np.array([2.0, np.nan, 2.0]), 0.9)
    assert np.array_equal(np.isnan(smoothed), [False, True, False])
    assert smoothed[2] == pytest.approx(2.0)


def test_diverged_losses_are_gaps_and_marked() -> None:
    plot = losses.steps(
        frame(g_loss=[1.0] * 20 + [np.inf] * 15 + [np.nan] * 15, smoothing=0.5), smoothed=True
    )
    assert np.isfinite(trace(plot, "g").y).sum() == 20
    assert plot.layout.shapes[0].x0 == 21
    # a browser would refuse NaN and Infinity
    json.loads(plot.to_json(engine="orjson"), parse_constant=pytest.fail)


def test_means_per_epoch() -> None:
    data = pd.DataFrame(
        {"epoch": [1, 2, 3], "g_loss": [1.0, np.nan, 3.0], "d_loss": [4.0, 5.0, 6.0]}
    )
    plot = losses.epochs(data)
    assert np.array_equal(trace(plot, "g").y, [1, np.nan, 3], equal_nan=True)
    assert np.array_equal(trace(plot, "d").x, [1, 2, 3])
    assert plot.layout.shapes[0].x0 == 2


def test_nothing_recorded_is_an_empty_figure() -> None:
    empty = frame(0)
    assert len(losses.steps(empty, smoothed=True, robust=True, events=happened(1)).data) == 7
    assert len(losses.epochs(empty).data) == 2
