"""The descent path and its axes, which grow in steps only."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pandas as pd
import pytest

from ganboard.worker.figures import path


def frame(n: int = 5) -> pd.DataFrame:
    epoch = np.arange(1, n + 1)
    columns = {
        name: epoch * scale
        for name, scale in (("g_x", 0.2), ("g_y", -0.1), ("d_x", 1.0), ("d_y", 2.0))
    }
    return pd.DataFrame({"epoch": epoch, "g_loss": 1 / epoch, "d_loss": 2 / epoch, **columns})


@pytest.mark.parametrize(
    ("value", "end"),
    [
        (0, 0),
        (-1, 0),
        (0.9, 1.0),
        (1.0, 1.0),
        (1.01, 1.5),
        (4.2, 5.0),
        (76, 100),
        (0.0031, 0.005),
        (1e-12, 1e-12),
    ],
)
def test_axes_end_at_round_numbers(value: float, end: float) -> None:
    assert path.ceiling(value) == pytest.approx(end)


def test_an_extent_never_shrinks_while_a_path_grows() -> None:
    walk = np.cumsum(np.random.default_rng(1).normal(size=400))
    extents = [tuple(path.extent(walk[:n])) for n in range(1, 401)]
    lows, highs = zip(*extents, strict=True)
    assert all(
        low <= walk[: n + 1].min() and high >= walk[: n + 1].max()
        for n, (low, high) in enumerate(extents)
    )
    assert all(after <= before for before, after in pairwise(lows))
    assert all(after >= before for before, after in pairwise(highs))
    assert len(set(extents)) < 25  # in steps


def test_extent_without_anything_finite() -> None:
    assert path.extent(np.array([np.nan, np.inf])) == [-1, 1]


@pytest.mark.parametrize(("net", "x"), [("g", "g_x"), ("d", "d_x")])
def test_path_in_space(net: str, x: str) -> None:
    data = frame()
    plot = path.descent(data, net=net)
    line, first, newest = plot.data
    assert {entry.type for entry in plot.data} == {"scatter3d"}
    assert np.array_equal(line.x, data[x])
    assert np.array_equal(line.z, data[f"{net}_loss"])
    assert (first.customdata.tolist(), newest.customdata.tolist()) == ([1], [5])
    assert plot.layout.scene.xaxis.autorange is False


def test_path_in_the_plane_colours_by_loss() -> None:
    data = frame()
    plot = path.descent(data, net="g", dimensions=2)
    assert {entry.type for entry in plot.data} == {"scatter"}
    assert np.array_equal(plot.data[0].marker.color, data["g_loss"])
    assert list(plot.layout.xaxis.range) == path.extent(data["g_x"].to_numpy())


@pytest.mark.parametrize("dimensions", [2, 3])
def test_diverged_path_has_gaps(dimensions: int) -> None:
    data = frame()
    data.loc[3:, ["g_x", "g_y", "g_loss"]] = np.nan
    plot = path.descent(data, net="g", dimensions=dimensions)
    assert np.isfinite(plot.data[0].x).sum() == 3
