"""What is seen beyond the edges of a map, against NumPy's padding."""

from __future__ import annotations

import numpy as np
import pytest

from ganboard.gan.layers.padding import EdgePadding2D


@pytest.mark.parametrize("sides", [(1, 1), (2, 3)])
def test_edges_are_repeated_or_meet(sides: tuple[int, int]) -> None:
    maps = np.random.default_rng(0).normal(size=[2, 5, 6, 3]).astype(np.float32)
    down, across = sides
    along = [(0, 0), (0, 0), (across, across), (0, 0)]
    over = [(0, 0), (down, down), (0, 0), (0, 0)]
    for periodic in (False, True):
        layer = EdgePadding2D(sides, periodic=periodic)
        wanted = np.pad(np.pad(maps, over, mode="wrap" if periodic else "edge"), along, mode="edge")
        np.testing.assert_array_equal(layer(maps), wanted)
        assert layer.compute_output_shape(maps.shape) == wanted.shape
        assert layer.compute_output_shape((None, 5, 6, 3)) == (None, *wanted.shape[1:])
