"""Differences to a baseline."""

from __future__ import annotations

import numpy as np
import pandas as pd

from ganboard.app.compare.curves import differences

NAN = np.nan


def frame(at: list[float], values: list[float]) -> pd.DataFrame:
    return pd.DataFrame({"epoch": at, "training_seconds": at, "g_loss": values})


def test_values_at_the_same_place_are_subtracted() -> None:
    frames = {"base": frame([1, 2, 3], [5, 4, 3]), "b": frame([2, 3, 4], [6, 6, 6])}
    found = differences(frames, "base", "epoch", ["g_loss"])
    np.testing.assert_array_equal(found["b"]["g_loss"], [2, 3, NAN])
    np.testing.assert_array_equal(found["base"]["g_loss"], [0, 0, 0])
    assert frames["b"]["g_loss"].tolist() == [6, 6, 6]


def test_between_its_points_the_baseline_is_interpolated() -> None:
    frames = {"base": frame([0, 10], [0, 10]), "b": frame([5, 11], [6, 6])}
    found = differences(frames, "base", "training_seconds", ["g_loss"])
    np.testing.assert_array_equal(found["b"]["g_loss"], [1, NAN])


def test_a_baseline_without_values_leaves_none() -> None:
    frames = {"base": frame([], []), "b": frame([1.0], [2.0])}
    assert np.isnan(differences(frames, "base", "epoch", ["g_loss"])["b"]["g_loss"]).all()
