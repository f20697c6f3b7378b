"""Parallel coordinates."""

from __future__ import annotations

import numpy as np
import pytest

from ganboard.worker.figures import parallel

AXES = {
    "precision": ["float32", "mixed_bfloat16", "float32"],
    "batch_size": [32, 128, 512],
    "Best FID": [12.0, 9.0, 15.0],
}


def test_a_line_per_run_through_every_axis() -> None:
    trace = parallel.coordinates(AXES, coloured="Best FID", less_is_better=True).data[0]
    assert [axis.label for axis in trace.dimensions] == list(AXES)
    assert [len(axis.values) for axis in trace.dimensions] == [3, 3, 3]
    assert list(trace.dimensions[0].ticktext) == ["float32", "mixed_bfloat16"]


def test_the_best_stands_out_and_the_worst_is_pale() -> None:
    assert parallel.coordinates(AXES, coloured="Best FID", less_is_better=True).data[
        0
    ].line.color == pytest.approx([0.5, 1.2, 1.0])
    assert parallel.coordinates(AXES, coloured="Best FID", less_is_better=False).data[
        0
    ].line.color == pytest.approx([0.5, 1.0, 1.2])
    assert parallel.coordinates(AXES, coloured="Best FID", less_is_better=None).data[
        0
    ].line.color == pytest.approx([0.5, 0.0, 1.0])


def test_ticks_of_the_colours_are_values() -> None:
    bar = (
        parallel.coordinates(AXES, coloured="Best FID", less_is_better=False).data[0].line.colorbar
    )
    assert dict(zip(bar.ticktext, np.round(bar.tickvals, 3), strict=True)) == {
        "9": 1,
        "12": 0.5,
        "15": 0,
        "best": 1.2,
    }


def test_equal_values_are_one_place_inside_the_axis() -> None:
    trace = parallel.coordinates(
        {"seed": [3, 3], "Best FID": [1.0, 1.0]}, coloured="Best FID", less_is_better=True
    ).data[0]
    assert list(trace.dimensions[0].range) == [2.5, 3.5]
    assert np.isfinite(trace.line.color).all()


def test_wide_ranges_are_logarithmic() -> None:
    places, (at, words) = parallel.positions([1e-4, 1e-3, 1e-2])
    assert places.tolist() == pytest.approx([-4, -3, -2])
    assert (at.tolist(), words) == (pytest.approx([-4, -3, -2]), ["0.0001", "0.001", "0.01"])
    assert parallel.positions([0.0, 1000.0])[0].tolist() == [0, 1000]  # zero has no logarithm


def test_many_values_get_round_ticks_that_cover_them() -> None:
    places, (at, words) = parallel.positions(np.linspace(3.1, 17.7, 40).tolist())
    assert words == ["5", "10", "15"]
    places, (at, words) = parallel.positions(np.geomspace(3, 4000, 40).tolist())
    assert words[0] == "1"
    assert words[-1] == "10,000"
    assert (at.min() <= places.min(), at.max() >= places.max()) == (True, True)


def test_words_switches_and_nothing_are_places_by_the_alphabet() -> None:
    assert parallel.positions([True, False, True])[1][1] == ["off", "on"]
    places, (_, words) = parallel.positions([None, 64, 128])
    assert words == ["128", "64", "none"]
    assert places.tolist() == [2, 1, 0]
    assert parallel.positions(["<b>x</b>", "a"])[1][1] == ["&lt;b&gt;x&lt;/b&gt;", "a"]
