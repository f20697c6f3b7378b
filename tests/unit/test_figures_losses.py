"""Loss curves."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

from app.figures import losses


def frame(n: int = 50, **columns: object) -> pd.DataFrame:
    step = np.arange(1, n + 1)
    values = {"step": step, "epoch": step / 10, "g_loss": np.sin(step), "d_loss": np.cos(step)}
    return pd.DataFrame(values | columns)


def trace(plot, uid: str):  # type: ignore[no-untyped-def]
    return next(trace for trace in plot.data if trace.uid == uid)


def test_raw_losses_against_steps() -> None:
    data = frame()
    plot = losses.steps(data)
    assert [entry.uid for entry in plot.data] == ["g", "d"]
    assert np.array_equal(trace(plot, "g").x, data["step"])
    assert np.array_equal(trace(plot, "d").y, data["d_loss"])
    assert trace(plot, "g").line.color != trace(plot, "d").line.color
    assert plot.layout.yaxis.type == "linear"


def test_smoothed_losses_leave_the_raw_ones_behind() -> None:
    data = frame()
    plot = losses.steps(data, x="epoch", smoothing=0.9, log_y=True)
    assert [entry.uid for entry in plot.data] == ["g-raw", "g", "d-raw", "d"]
    assert np.array_equal(trace(plot, "g").x, data["epoch"])
    assert np.array_equal(trace(plot, "g-raw").y, data["g_loss"])
    assert trace(plot, "g").y.std() < data["g_loss"].std() / 2
    assert trace(plot, "g-raw").legendgroup == trace(plot, "g").legendgroup
    assert trace(plot, "g-raw").showlegend is False
    assert plot.layout.yaxis.type == "log"


@pytest.mark.parametrize("weight", [0.0, 0.5, 0.9, 0.999, 1.0])
def test_smoothing_keeps_a_constant_constant(weight: float) -> None:
    assert losses.smooth(np.full(40, 1.25), weight) == pytest.approx(np.full(40, 1.25), abs=1e-12)


def test_smoothing_is_the_bias_corrected_average_of_adam() -> None:
    values = np.random.default_rng(0).normal(size=30)
    average, expected = 0.0, []
    for t, value in enumerate(values, 1):
        average = 0.8 * average + 0.2 * value
        expected.append(average / (1 - 0.8**t))
    assert losses.smooth(values, 0.8) == pytest.approx(expected)


def test_nan_is_a_gap_that_smoothing_passes_over() -> None:
    smoothed = losses.smooth(np.array([2.0, np.nan, 2.0]), 0.9)
    assert np.array_equal(np.isnan(smoothed), [False, True, False])
    assert smoothed[2] == pytest.approx(2.0)


def test_diverged_losses_are_gaps_and_marked() -> None:
    plot = losses.steps(frame(g_loss=[1.0] * 20 + [np.inf] * 15 + [np.nan] * 15), smoothing=0.5)
    assert np.isfinite(trace(plot, "g").y).sum() == 20
    assert plot.layout.shapes[0].x0 == 21
    json.loads(plot.to_json(engine="orjson"), parse_constant=pytest.fail)  # a browser would refuse NaN and Infinity


def test_means_per_epoch() -> None:
    data = pd.DataFrame({"epoch": [1, 2, 3], "g_loss": [1.0, np.nan, 3.0], "d_loss": [4.0, 5.0, 6.0]})
    plot = losses.epochs(data)
    assert np.array_equal(trace(plot, "g").y, [1, np.nan, 3], equal_nan=True)
    assert np.array_equal(trace(plot, "d").x, [1, 2, 3])
    assert plot.layout.shapes[0].x0 == 2


def test_nothing_recorded_is_an_empty_figure() -> None:
    empty = frame(0)
    assert len(losses.steps(empty, smoothing=0.5).data) == 4
    assert len(losses.epochs(empty).data) == 2
