"""Seconds per epoch and images per second."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from ganboard.gan.events import MEASURES
from ganboard.worker.figures import timings


def frame(n: int) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "epoch": np.arange(1, n + 1),
            "seconds": np.full(n, 2.0),
            "compile_seconds": [5.0] + [0.0] * (n - 1),
            "images_per_second": [np.nan] + [100.0] * (n - 1),
        }
    )


def measured(n: int, **columns: float) -> pd.DataFrame:
    return frame(n).assign(**columns)


def test_seconds_are_split_where_they_were_measured() -> None:
    some = measured(
        3, compute_seconds=1.5, reduce_seconds=0.0, input_seconds=0.25, host_seconds=0.5
    )
    some.loc[0, ["compute_seconds", "reduce_seconds", "input_seconds", "host_seconds"]] = np.nan
    heights = {bar.uid: list(bar.y) for bar in timings.seconds(some).data}
    # nothing was reduced
    assert set(heights) == {
        "seconds",
        "compute_seconds",
        "input_seconds",
        "host_seconds",
        "compile_seconds",
    }
    assert np.array_equal(heights["seconds"], [2, np.nan, np.nan], equal_nan=True)
    assert np.array_equal(heights["compute_seconds"], [np.nan, 1.5, 1.5], equal_nan=True)
    assert "seconds" not in {bar.uid for bar in timings.seconds(some[1:]).data}


def test_an_accelerators_steps_are_one_part_beside_the_host() -> None:
    bars = {bar.uid: list(bar.y) for bar in timings.seconds(measured(2, host_seconds=0.5)).data}
    assert (bars["seconds"], bars["host_seconds"]) == ([2, 2], [0.5, 0.5])


def test_every_part_has_its_words_and_a_colour_of_its_own() -> None:
    columns = {name: 1.0 for name, _ in timings.PARTS}
    bars = timings.seconds(measured(2, **columns)).data
    assert {bar.uid: bar.name for bar in bars} == {
        **{name: MEASURES[name] for name in columns},
        "compile_seconds": "Tracing and compilation",
    }
    assert len({bar.marker.color for bar in bars}) == 5


def test_times_per_step() -> None:
    plot = timings.steps(measured(2, step_p50=0.5, step_max=np.inf))
    assert [(line.uid, line.name) for line in plot.data] == [
        ("step_p50", MEASURES["step_p50"]),
        ("step_max", MEASURES["step_max"]),
    ]
    assert np.isnan(plot.data[1].y).all()
    assert not timings.steps(frame(2)).data


def test_compiling_is_stacked_on_training() -> None:
    plot = timings.seconds(frame(4))
    training, compiling = plot.data
    assert plot.layout.barmode == "stack"
    assert (training.uid, compiling.uid) == ("seconds", "compile_seconds")
    assert training.y.tolist() == [2, 2, 2, 2]
    assert compiling.y.tolist() == [5, 0, 0, 0]
    assert training.marker.color != compiling.marker.color


def test_throughput_leaves_out_what_was_not_measured() -> None:
    plot = timings.throughput(frame(3))
    assert np.array_equal(plot.data[0].y, [np.nan, 100, 100], equal_nan=True)
    assert plot.layout.yaxis.rangemode == "tozero"


def test_thousands_of_epochs_are_averaged() -> None:
    bars = timings.seconds(frame(3000)).data[0]
    assert len(bars.x) == 300
    assert (bars.y == 2).all()


@pytest.mark.parametrize("part", [name for name, _ in timings.PARTS])
def test_the_largest_part_is_the_bottleneck(part: str) -> None:
    rows = measured(
        2,
        **{
            **{name: 0.2 for name, _ in timings.PARTS},
            part: 0.6,
            "compute_seconds": 0.6 if part == "compute_seconds" else 0.5,
        },
    )
    shares = timings.shares(rows)
    assert sum(shares.values()) == pytest.approx(1)
    assert timings.bottleneck(shares) == part
    # an accelerator's steps are not timed inside
    assert timings.shares(measured(2, host_seconds=1.0)) == {}
