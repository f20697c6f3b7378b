"""The convolution in the frequency domain against Keras's own."""

from __future__ import annotations

import keras
import numpy as np
import pytest
import tensorflow as tf

from ganboard.gan.models.dcgan.spectral import SpectralConv2DTranspose, bilinear


@pytest.mark.parametrize(("size", "kernel"), [(7, 5), (7, 3), (4, 5), (9, 1), (1, 5)])
def test_the_bilinear_form_is_the_transposed_convolution(size: int, kernel: int) -> None:
    rng = np.random.default_rng(0)
    x, k = rng.normal(size=(size, size)), rng.normal(size=(kernel, kernel))
    wanted = np.zeros((size + kernel - 1,) * 2)
    for i in range(size):
        for j in range(size):
            wanted[i : i + kernel, j : j + kernel] += x[i, j] * k
    wanted = wanted[kernel // 2 :, kernel // 2 :][:size, :size]
    to_x, to_k, back = bilinear(size, kernel)
    np.testing.assert_allclose(
        (back @ ((to_x @ x.ravel()) * (to_k @ k.ravel()))).reshape(size, size), wanted, atol=1e-12
    )


def test_it_takes_a_tenth_of_the_products() -> None:
    assert len(bilinear(7, 5)[0]) == 121  # of 7 * 7 * 5 * 5 = 1,225


@pytest.mark.parametrize(("dtype", "error"), [("float32", 3e-6), ("mixed_bfloat16", 2e-2)])
def test_output_and_gradients_are_those_of_the_direct_convolution(dtype: str, error: float) -> None:
    direct = keras.layers.Conv2DTranspose(6, 5, 1, "same", use_bias=False, dtype="float32")
    fast = SpectralConv2DTranspose(6, 5, dtype=dtype)
    x = tf.constant(np.random.default_rng(1).normal(size=(3, 7, 7, 4)), tf.float32)
    direct.build(x.shape)
    fast.build(x.shape)
    fast.kernel.assign(direct.kernel)
    pull = tf.constant(np.random.default_rng(2).normal(size=(3, 7, 7, 6)), tf.float32)
    results = []
    for layer in (direct, fast):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.cast(layer(x), tf.float32)
        results.append([y, *tape.gradient(y, [x, layer.kernel.value], output_gradients=pull)])
    for wanted, found in zip(*results, strict=True):
        assert float(tf.norm(found - wanted) / tf.norm(wanted)) < error


def test_the_number_of_images_may_be_left_open() -> None:
    layer = SpectralConv2DTranspose(2, 5)
    model = keras.Sequential([keras.Input((7, 7, 3)), layer])
    assert model(tf.zeros([5, 7, 7, 3])).shape == (5, 7, 7, 2)
    assert model.output_shape == (None, 7, 7, 2)
