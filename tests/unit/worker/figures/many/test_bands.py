"""Means of groups with their bands."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import pytest

from ganboard.worker.figures.many import bands

NAN = math.nan


def run(at: Sequence[float], values: Sequence[float]) -> pd.DataFrame:
    return pd.DataFrame({"epoch": at, "loss": values})


def columns(*frames: pd.DataFrame, spread: bands.Spread = "range") -> dict[str, list[Any]]:
    found = bands.mean(frames, "epoch", "loss", spread)
    return {name: found[name].tolist() for name in found}


def test_mean_and_range() -> None:
    found = columns(run([1, 2], [1, 4]), run([1, 2], [3, 4]), run([1, 2], [2, 10]))
    assert found == {"x": [1, 2], "mean": [2, 6], "low": [1, 4], "high": [3, 10], "runs": [3, 3]}


def test_standard_error() -> None:
    values = [1.0, 3.0, 2.0, 6.0]
    found = columns(*[run([1], [value]) for value in values], spread="error")
    error = np.std(values, ddof=1) / 2
    assert found["low"] == pytest.approx([3 - error])
    assert found["high"] == pytest.approx([3 + error])
    alone = columns(run([1, 2], [5, 6]), spread="error")
    assert alone["low"] == alone["high"] == alone["mean"] == [5, 6]


def test_runs_of_other_places_are_interpolated_and_none_goes_beyond_its_ends() -> None:
    found = columns(run([0, 2, 4], [0, 2, 4]), run([1, 2], [11, 12]))
    assert found["x"] == [0, 1, 2, 4]
    assert found["mean"] == [0, 6, 7, 4]
    assert found["runs"] == [1, 2, 2, 1]


def test_what_is_not_finite_does_not_count() -> None:
    found = columns(run([1, 2, 3], [1, NAN, math.inf]), run([1, 2, 3], [3, 4, 5]))
    assert (found["mean"], found["runs"]) == ([2, 4, 5], [2, 1, 1])
    assert not any(columns(run([1], [NAN]), run([], [])).values())
    assert columns()["x"] == []


def test_long_courses_are_reduced() -> None:
    long = run(np.arange(5000), np.arange(5000) / 10)
    found = bands.mean([long, long], "epoch", "loss", "range")
    assert len(found) == bands.POINTS
    np.testing.assert_allclose(found["mean"], found["x"] / 10)


def test_every_group_has_its_colour_and_says_how_many_runs_it_has() -> None:
    groups = {"<b> 32": [run([1, 2], [1, 2]), run([1, 2], [3, 4])], "64": [run([1], [9])]}
    plot = bands.figure(groups, column="loss", x="epoch", title="Loss", spread="range", log_y=True)
    assert [trace.name for trace in plot.data if trace.showlegend is None] == [
        "&lt;b&gt; 32 (2 runs)",
        "64 (1 run)",
    ]
    low, high, middle = plot.data[:3]
    assert (list(low.y), list(high.y), list(middle.y)) == ([1, 2], [3, 4], [2, 3])
    assert high.fill == "tonexty"
    assert plot.data[2].line.color != plot.data[5].line.color
    assert plot.layout.yaxis.type == "log"
