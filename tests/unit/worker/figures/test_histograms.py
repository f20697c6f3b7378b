"""Loss histograms over the epochs."""

from __future__ import annotations

import numpy as np
import pytest

from ganboard.worker.figures import histograms


def test_shares_add_up_to_a_hundred_per_epoch() -> None:
    counts = np.array([[1, 3, 0], [0, 0, 0], [2, 2, 4]])
    plot = histograms.density(
        [1, 2, 3],
        np.array([0.0, 1.0, 2.0, 3.0]),
        counts,
        net="g",
        mean_epochs=[1, 3],
        means=[0.9, np.inf],
    )
    density, mean, _ = plot.data
    assert density.z.shape == (3, 3)
    assert np.nansum(density.z, axis=0) == pytest.approx([100, 0, 100])
    assert np.isnan(density.z[2, 0])  # a bin without a step stays empty
    assert density.y.tolist() == [0.5, 1.5, 2.5]
    assert density.x.tolist() == [1, 2, 3]
    assert np.array_equal(mean.y, [0.9, np.nan], equal_nan=True)
    assert "Generator" in plot.layout.yaxis.title.text


def test_many_epochs_are_summed_into_columns() -> None:
    epochs = list(range(1, 1001))
    plot = histograms.density(
        epochs, np.array([0.0, 1.0, 2.0]), np.tile([1, 3], (1000, 1)), net="d"
    )
    density = plot.data[0]
    assert density.z.shape == (2, len(density.x))
    assert len(density.x) <= histograms.COLUMNS
    assert density.x[0] == pytest.approx(2.5)
    assert density.z[:, -1].tolist() == [25, 75]


def test_no_epochs() -> None:
    plot = histograms.density([], np.linspace(0, 1, 41), np.zeros((0, 40)), net="g")
    assert plot.data[0].z.shape == (40, 0)


def test_the_trend_is_a_moving_average_that_passes_over_gaps() -> None:
    means = [1.0, 2.0, 3.0, np.nan, 5.0, 6.0, 7.0]
    plot = histograms.density(
        [], np.linspace(0, 1, 41), np.zeros((0, 40)), net="g", mean_epochs=range(1, 8), means=means
    )
    trend = next(line for line in plot.data if line.uid == "trend")
    assert trend.y == pytest.approx([1, 1.5, 2, np.nan, 2.75, 4, 5.25], nan_ok=True)
    assert str(histograms.TREND_EPOCHS) in trend.name


def test_histograms_with_bins_of_their_own_are_drawn_on_common_ones() -> None:
    edges = [np.array([0.0, 1.0, 2.0]), np.array([-2.0, 0.0, 4.0]), np.array([1.0, 1.0])]
    counts = [np.array([1.0, 3.0]), np.array([2.0, 2.0]), np.array([5.0])]
    plot = histograms.spread([10, 20, 30], edges, counts, "w <b>")
    drawn = plot.data[0]
    assert drawn.x.tolist() == [10, 20, 30]
    assert len(drawn.y) == histograms.BINS
    assert np.nansum(drawn.z, axis=0) == pytest.approx([100, 100, 100])
    above = drawn.y > 1
    assert np.nansum(drawn.z[above, 0]) == pytest.approx(75)
    assert np.nansum(drawn.z[above, 1]) == pytest.approx(37.5)
    assert np.count_nonzero(np.isfinite(drawn.z[:, 2])) == 1  # all values are equal
    assert "&lt;b&gt;" in plot.layout.title.text


def test_histograms_of_one_value_alone() -> None:
    plot = histograms.spread([1], [np.array([2.0, 2.0])], [np.array([7.0])], "w")
    assert np.nansum(plot.data[0].z) == pytest.approx(100)
