from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from ganboard.gan.layers.grouped_convolution import GroupedConv2D

INPUTS = tf.constant(np.random.default_rng(0).normal(size=(2, 6, 6, 6)), tf.float32)


@pytest.mark.parametrize("options", [{}, {"strides": 2, "padding": "same"}], ids=str)
def test_each_group_is_a_convolution_of_its_own(options: dict[str, Any]) -> None:
    layer = GroupedConv2D(9, 3, groups=3, activation="relu", **options)
    layer.build(INPUTS.shape)
    layer.bias.assign(np.arange(9.0) / 10)
    assert layer.kernel.shape == (3, 3, 2, 9)
    strides, padding = options.get("strides", 1), options.get("padding", "valid").upper()

    def apart() -> tf.Tensor:
        parts = zip(tf.split(INPUTS, 3, -1), tf.split(layer.kernel.value, 3, -1), strict=True)
        made = [tf.nn.conv2d(x, kernel, strides, padding) for x, kernel in parts]
        return tf.nn.relu(tf.concat(made, -1) + layer.bias.value)

    found = []
    for output in (lambda: layer(INPUTS), apart):
        with tf.GradientTape() as tape:
            tape.watch(INPUTS)
            values = output()
            loss = tf.reduce_sum(tf.square(values))
        found.append([values, *tape.gradient(loss, [INPUTS, layer.kernel.value])])
    for ours, wanted in zip(*found, strict=True):
        np.testing.assert_allclose(ours, wanted, atol=1e-4)
