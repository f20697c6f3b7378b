"""A stride-1 transposed convolution computed in the frequency domain: the same function with a
tenth of the products.

The study's largest layer convolves 7x7 maps with 5x5 kernels from 256 to 128 channels: 1,225
products per pair of channels, a third of them with padding. A convolution is a product of discrete
Fourier transforms (Mathieu, Henaff and LeCun 2014, "Fast training of convolutional networks through
FFTs"). Maps of this size need only 9x9 points, whose half plane has 40 complex frequencies and one
real one. A complex product takes three real ones (Gauss), so 121 real products remain per pair of
channels, each a matrix product over channels. Transforms are products with constant matrices, so
gradients take the same short way. Relative RMS errors of the output: in float32 5e-7 (direct:
8e-7), in bfloat16, which rounds after each transform, 5.4e-3, twice those of the direct convolution
(2.9e-3): see docs/engine.md.

Measured for 256 images on two cores: 32 ms instead of 109 forward and backward in float32, 21
instead of 73 in bfloat16.
"""

from __future__ import annotations

from typing import Any

import keras
import numpy as np
import numpy.typing as npt
import tensorflow as tf

Matrix = npt.NDArray[np.float64]


def bilinear(size: int, kernel: int) -> tuple[Matrix, Matrix, Matrix]:
    """(A [R, size ** 2], W [R, kernel ** 2], C [size ** 2, R]) so that C ((A x) (W k)) is the
    "same" transposed convolution of x with k.

    `size` and `kernel` (odd) are side lengths; maps and kernels are flattened row by row; the
    middle product is elementwise over R rows.
    """
    # wrapped-around values fall on padding only; an odd number has one real frequency
    points = (size + kernel // 2) | 1
    frequencies = [
        (a, b) for a in range(points) for b in range(points) if (a, b) > (-a % points, -b % points)
    ]
    plane = np.array([(0, 0), *frequencies])

    def waves(side: int, first: int) -> tuple[Matrix, Matrix]:
        places = np.stack(np.meshgrid(*[np.arange(side) - first] * 2, indexing="ij"), -1).reshape(
            -1, 2
        )
        phase = 2 * np.pi * (plane @ places.T) / points
        return np.cos(phase), -np.sin(phase)

    # the imaginary part of frequency 0 is zero
    def parts(real: Matrix, imaginary: Matrix) -> Matrix:
        return np.concatenate([real, imaginary[1:], (real + imaginary)[1:]])

    x, k = waves(size, 0), waves(kernel, kernel // 2)
    # each frequency stands for its conjugate too
    weight = np.where(np.arange(len(plane)) == 0, 1, 2)[:, None] / points**2
    real, imaginary = weight * x[0], weight * x[1]
    # P1 = re re, P2 = im im, P3 = (re + im)(re + im): the product is (P1 - P2) + i (P3 - P1 - P2)
    back = np.concatenate([real - imaginary, (-real - imaginary)[1:], imaginary[1:]])
    back[0] = real[0]
    return parts(*x), parts(*k), back.T


class SpectralConv2DTranspose(keras.layers.Conv2DTranspose):  # type: ignore[misc]
    """`Conv2DTranspose` with stride 1, padding "same" and no bias on square maps: [B, S, S, C] ->
    [B, S, S, filters]."""

    def __init__(self, filters: int, kernel_size: int, **kwargs: Any) -> None:
        super().__init__(filters, kernel_size, 1, "same", use_bias=False, **kwargs)

    def build(self, input_shape: tuple[int | None, ...]) -> None:
        super().build(input_shape)
        assert input_shape[1] == input_shape[2], "square maps only"
        self._matrices = bilinear(int(input_shape[1] or 0), self.kernel_size[0])

    def call(self, inputs: tf.Tensor) -> tf.Tensor:
        dtype, (batch, side, _, channels) = inputs.dtype, inputs.shape
        batch = tf.shape(inputs)[0] if batch is None else batch
        to_x, to_k, back = (tf.constant(matrix, tf.float32) for matrix in self._matrices)
        kernel = tf.reshape(tf.cast(self.kernel, tf.float32), [-1, self.filters * channels])
        x = tf.reshape(
            tf.transpose(tf.reshape(inputs, [batch, side * side, channels]), [1, 0, 2]),
            [side * side, -1],
        )
        waves = tf.reshape(tf.matmul(tf.cast(to_x, dtype), x), [-1, batch, channels])
        weights = tf.reshape(tf.cast(tf.matmul(to_k, kernel), dtype), [-1, self.filters, channels])
        products = tf.reshape(
            tf.matmul(waves, weights, transpose_b=True), [-1, batch * self.filters]
        )
        maps = tf.reshape(
            tf.matmul(tf.cast(back, dtype), products), [side * side, batch, self.filters]
        )
        return tf.reshape(tf.transpose(maps, [1, 0, 2]), [batch, side, side, self.filters])
