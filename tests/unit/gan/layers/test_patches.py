"""Convolutions as products of patches against Keras's own."""

from __future__ import annotations

import keras
import pytest
import tensorflow as tf

from ganboard.gan.layers.patches import PatchConv2D, PatchConv2DTranspose
from tests.unit.gan.layers.test_spectral import SPLITS, assert_equal


@pytest.mark.parametrize(
    ("side", "kernel", "strides"), [*SPLITS, (2, 4, 2), (4, 3, 1), (6, 3, 3), (9, 5, 3)]
)
def test_output_and_gradients_are_those_of_the_direct_form(
    side: int, kernel: int, strides: int
) -> None:
    plain = keras.layers.Conv2D(6, kernel, strides, "same")
    assert_equal(PatchConv2D(6, kernel, strides), plain, (3, side, side, 4), 3e-6)
    small = side // strides
    up = keras.layers.Conv2DTranspose(5, kernel, strides, "same")
    assert_equal(PatchConv2DTranspose(5, kernel, strides), up, (3, small, small, 6), 3e-6)


def test_maps_need_not_be_square_nor_their_number_known() -> None:
    model = keras.Sequential([keras.Input((2, 4, 3)), PatchConv2D(5, 4, 2)])
    assert model.output_shape == (None, 1, 2, 5)
    assert model(tf.zeros([7, 2, 4, 3])).shape == (7, 1, 2, 5)
    model = keras.Sequential([keras.Input((1, 2, 3)), PatchConv2DTranspose(5, 4, 2)])
    assert model.output_shape == (None, 2, 4, 5)
    assert model(tf.zeros([7, 1, 2, 3])).shape == (7, 2, 4, 5)
