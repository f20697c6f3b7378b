"""Three-dimensional convolutions between few channels against Keras's own."""

from __future__ import annotations

import keras
import pytest

from ganboard.gan.layers.blocks import BlockedConv3D, block
from tests.unit.gan.layers.test_spectral import assert_equal


@pytest.mark.parametrize(("channels", "filters"), [(1, 20), (20, 8), (8, 8), (6, 1), (3, 20)])
@pytest.mark.parametrize("padding", ["same", "valid"])
@pytest.mark.parametrize("kernel", [(5, 5, 5), (2, 3, 4)])
def test_output_and_gradients_are_those_of_the_direct_form(
    channels: int, filters: int, padding: str, kernel: tuple[int, int, int]
) -> None:
    plain = keras.layers.Conv3D(filters, kernel, 1, padding)
    fast = BlockedConv3D(filters, kernel, 1, padding)
    assert_equal(fast, plain, (2, 6, 7, 9, channels), 3e-6)


def test_blocks_fill_the_lanes() -> None:
    assert block((5, 5, 5), 8) == (1, 2)
    assert block((5, 5, 5), 1) == (4, 4)
    assert block((5, 5, 5), 32) == block((5, 5, 5), 16) == (1, 1)
    assert block((1, 1, 1), 8) == (1, 1)  # a block would hold as many zeros as it fills lanes
