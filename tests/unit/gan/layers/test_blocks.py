"""Three-dimensional convolutions between few channels against Keras's own."""

from __future__ import annotations

import keras
import numpy as np
import pytest
import tensorflow as tf

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


@pytest.mark.parametrize(("channels", "filters"), [(1, 20), (20, 8), (8, 8)])
@pytest.mark.parametrize(
    ("kernel", "pads"),
    [
        ((5, 5, 5), (2, 2, 2)),
        ((5, 5, 5), (1, 1, 1)),
        ((5, 6, 6), (0, 0, 1)),
        ((4, 4, 6), (2, 2, 1)),
    ],
)
def test_zeros_within_are_those_of_a_layer_before(
    channels: int, filters: int, kernel: tuple[int, int, int], pads: tuple[int, int, int]
) -> None:
    fast = BlockedConv3D(filters, kernel, pads=pads)
    shape = (2, 6, 7, 9, channels)
    fast.build(shape)
    plain, weights = fast.keras_layer()
    plain.build(shape)
    plain.set_weights([weight.numpy() for weight in weights])
    assert fast.compute_output_shape(shape) == plain.compute_output_shape(shape)
    random = np.random.default_rng(0)
    x = tf.constant(random.normal(size=shape), tf.float32)
    found = []
    for layer in (fast, plain):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = layer(x)
            loss = tf.reduce_sum(tf.square(y) * tf.cos(y))
        found.append([y, *tape.gradient(loss, [x, *(w.value for w in layer.trainable_weights)])])
    for ours, wanted in zip(*found, strict=True):
        scale = float(tf.reduce_max(tf.abs(wanted)))
        np.testing.assert_allclose(ours / scale, wanted / scale, atol=3e-6)


def test_blocks_fill_the_lanes() -> None:
    assert block((5, 5, 5), 8) == (1, 2)
    assert block((5, 5, 5), 1) == (4, 4)
    assert block((5, 5, 5), 32) == block((5, 5, 5), 16) == (1, 1)
    assert block((1, 1, 1), 8) == (1, 1)  # a block would hold as many zeros as it fills lanes
