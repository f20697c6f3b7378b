"""Convolutions in the frequency domain against Keras's own."""

from __future__ import annotations

from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf

from ganboard.gan.layers.spectral import SpectralConv2D, SpectralConv2DTranspose, bilinear
from ganboard.gan.taps import points, products, taps


@pytest.mark.parametrize(("size", "kernel"), [(7, 5), (7, 3), (4, 5), (9, 1), (1, 5)])
def test_the_bilinear_form_is_the_transposed_convolution(size: int, kernel: int) -> None:
    rng = np.random.default_rng(0)
    x, k = rng.normal(size=(size, size)), rng.normal(size=(kernel, kernel))
    wanted = np.zeros((size + kernel - 1,) * 2)
    for i in range(size):
        for j in range(size):
            wanted[i : i + kernel, j : j + kernel] += x[i, j] * k
    wanted = wanted[kernel // 2 :, kernel // 2 :][:size, :size]
    to_x, to_k, back = bilinear(size, taps(kernel, 1), transposed=True)
    np.testing.assert_allclose(
        (back @ ((to_x @ x.ravel()) * (to_k @ k.ravel()))).reshape(size, size), wanted, atol=1e-12
    )


@pytest.mark.parametrize(
    ("kernel", "strides", "count"),
    [
        (5, 1, 121),  # of 7 * 7 * 5 * 5 = 1,225
        (5, 2, 94),  # on each of four maps, of 1,225 on all
    ],
)
def test_it_takes_a_fraction_of_the_products(kernel: int, strides: int, count: int) -> None:
    split = taps(kernel, strides)
    assert products(points(7, split)) == count
    for transposed in (False, True):
        assert len(bilinear(7, split, transposed=transposed)[0]) == count


def results(layer: Any, x: tf.Tensor, pull: tf.Tensor) -> list[tf.Tensor]:
    """Output, gradients of input and kernel, and the kernel's gradient of a penalty on the former,
    as R1 takes it; all float32."""
    with tf.GradientTape() as outer:
        outer.watch(x)
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.cast(layer(x), tf.float32)
        first = tape.gradient(y, [x, layer.kernel.value], output_gradients=pull)
        penalty = tf.reduce_sum(tf.square(first[0]))
    return [y, *first, outer.gradient(penalty, layer.kernel.value)]


def assert_equal(fast: Any, plain: Any, shape: tuple[int, ...], error: float) -> None:
    """That both layers do the same, up to rounding, with inputs of `shape`."""
    x = tf.constant(np.random.default_rng(1).normal(size=shape), tf.float32)
    plain.build(shape)
    fast.build(shape)
    fast.kernel.assign(plain.kernel)
    if plain.use_bias:
        for layer in (fast, plain):
            layer.bias.assign(np.arange(plain.bias.shape[0]))
    size = plain.compute_output_shape(shape)
    assert fast.compute_output_shape(shape) == size
    pull = tf.constant(np.random.default_rng(2).normal(size=size), tf.float32)
    own, theirs = results(fast, x, pull), results(plain, x, pull)
    # a graph without gradients is optimised otherwise
    own, theirs = [*own, tf.cast(tf.function(fast)(x), tf.float32)], [*theirs, theirs[0]]
    for found, wanted in zip(own, theirs, strict=True):
        assert float(tf.norm(found - wanted) / tf.norm(wanted)) < error


SPLITS = [(14, 5, 2), (8, 4, 2), (8, 3, 2), (6, 6, 2), (6, 2, 2)]


@pytest.mark.parametrize(("side", "kernel", "strides"), [(7, 5, 1), (9, 3, 1), *SPLITS])
def test_float32_gives_output_and_gradients_of_the_direct_form(
    side: int, kernel: int, strides: int
) -> None:
    plain = keras.layers.Conv2D(6, kernel, strides, "same")
    assert_equal(SpectralConv2D(6, kernel, strides), plain, (3, side, side, 4), 3e-6)
    small = side // strides
    up = keras.layers.Conv2DTranspose(6, kernel, strides, "same")
    assert_equal(SpectralConv2DTranspose(6, kernel, strides), up, (3, small, small, 4), 3e-6)


def test_bfloat16_differs_by_its_rounding() -> None:
    for strides in (1, 2):
        plain = keras.layers.Conv2DTranspose(6, 5, strides, "same", dtype="float32")
        fast = SpectralConv2DTranspose(6, 5, strides, dtype="mixed_bfloat16")
        # 2.4 % on a processor without bfloat16 instructions, where Keras's own layer has 1.2 %
        assert_equal(fast, plain, (3, 7, 7, 4), 3e-2)


@pytest.mark.parametrize("strides", [1, 2])
def test_the_number_of_images_may_be_left_open(strides: int) -> None:
    layer = SpectralConv2DTranspose(2, 5, strides)
    model = keras.Sequential([keras.Input((7, 7, 3)), layer])
    assert model(tf.zeros([5, 7, 7, 3])).shape == (5, 7 * strides, 7 * strides, 2)
    assert model.output_shape == (None, 7 * strides, 7 * strides, 2)
    down = keras.Sequential([keras.Input((8, 8, 3)), SpectralConv2D(2, 5, strides)])
    assert down(tf.zeros([5, 8, 8, 3])).shape == (5, 8 // strides, 8 // strides, 2)
