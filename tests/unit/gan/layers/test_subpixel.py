"""Convolutions between an image and maps of half its size against Keras's own."""

from __future__ import annotations

import keras
import pytest
import tensorflow as tf

from ganboard.gan.layers.subpixel import SubpixelConv2D, SubpixelConv2DTranspose
from tests.unit.gan.layers.test_spectral import SPLITS, assert_equal


@pytest.mark.parametrize(("side", "kernel", "strides"), [*SPLITS, (9, 5, 3)])
def test_output_and_gradients_are_those_of_the_direct_form(
    side: int, kernel: int, strides: int
) -> None:
    plain = keras.layers.Conv2D(6, kernel, strides, "same")
    assert_equal(SubpixelConv2D(6, kernel, strides), plain, (3, side, side, 1), 3e-6)
    small = side // strides
    up = keras.layers.Conv2DTranspose(1, kernel, strides, "same")
    assert_equal(SubpixelConv2DTranspose(1, kernel, strides), up, (3, small, small, 6), 3e-6)


def test_bfloat16_stays_bfloat16() -> None:
    layer = SubpixelConv2DTranspose(1, 5, 2, dtype="mixed_bfloat16")
    assert layer(tf.zeros([2, 7, 7, 3])).dtype == tf.bfloat16
