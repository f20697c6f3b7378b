"""Convolutions on small square maps in the frequency domain, with fewer products.

A discrete Fourier transform turns the convolution of a map with a kernel into one product per
frequency and pair of channels (S. Winograd, "Arithmetic Complexity of Computations", 1980). Padding
keeps wrapped-around values outside. Spectra of real maps are determined by half the plane, and a
complex product takes three real ones: 121 products instead of 7 * 7 * 5 * 5 = 1,225 on 7x7 maps
with a 5x5 kernel. A convolution with stride 2 is one with stride 1 on the four maps of even and odd
rows and columns, whose kernels have at most 3x3 of the taps: 94 products on each instead of 306.

The transforms are products with constant matrices, so gradients take the same short way. Relative
RMS errors of the output: in float32 5e-7 (direct: 8e-7), in bfloat16, which rounds after each
transform, 5e-3, twice those of the direct convolution (2.9e-3): see docs/engine.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import keras
import numpy as np
import numpy.typing as npt
import tensorflow as tf

from ganboard.gan.taps import Taps, points, taps

Matrix = npt.NDArray[np.float64]


def bilinear(size: int, kernel: Taps, *, transposed: bool) -> tuple[Matrix, Matrix, Matrix]:
    """(A [R, size ** 2], W [R, number ** 2], C [size ** 2, R]) so that C ((A x) (W k)) is the
    "same" convolution of x with k, as Keras defines it (a cross-correlation), or its transpose.

    Maps [size, size] and kernels [number, number] are flattened row by row; the middle product is
    elementwise over R = `products(points)` rows.
    """
    side = points(size, kernel)
    plane = [(a, b) for a in range(side) for b in range(side)]
    conjugates = {(a, b): (-a % side, -b % side) for a, b in plane}
    real_ones = [p for p in plane if p == conjugates[p]]
    frequencies = np.array([*real_ones, *(p for p in plane if p > conjugates[p])])
    own = len(real_ones)  # the imaginary parts of these are zero

    def waves(count: int, first: int, sign: int = 1) -> tuple[Matrix, Matrix]:
        along = [np.arange(count) - first] * 2
        places = np.stack(np.meshgrid(*along, indexing="ij"), -1).reshape(-1, 2)
        phase = sign * 2 * np.pi * (frequencies @ places.T) / side
        return np.cos(phase), -np.sin(phase)

    def parts(real: Matrix, imaginary: Matrix) -> Matrix:
        return np.concatenate([real, imaginary[own:], (real + imaginary)[own:]])

    x = waves(size, 0)
    k = waves(kernel.number, kernel.centre, 1 if transposed else -1)
    # each frequency stands for its conjugate too
    weight = np.where(np.arange(len(frequencies)) < own, 1, 2)[:, None] / side**2
    real, imaginary = weight * x[0], weight * x[1]
    # P1 = re re, P2 = im im, P3 = (re + im)(re + im): the product is (P1 - P2) + i (P3 - P1 - P2)
    back = np.concatenate([real - imaginary, (-real - imaginary)[own:], imaginary[own:]])
    back[:own] = real[:own]
    return parts(*x), parts(*k), back.T


class _Spectral:
    """What both layers share; `strides` must divide the side of the larger maps."""

    kernel: Any
    kernel_size: Sequence[int]
    strides: Sequence[int]

    def _prepare(self, larger: int, *, transposed: bool) -> None:
        stride = self.strides[0]
        assert larger % stride == 0, f"maps of {larger}x{larger} do not split into strides"
        self._taps = taps(self.kernel_size[0], stride)
        self._matrices = bilinear(larger // stride, self._taps, transposed=transposed)

    def _spectrum(self, dtype: tf.DType) -> tf.Tensor:
        """The kernels [R, strides ** 2 * A, B] of the kernel [k, k, A, B]."""
        stride, (before, count, _) = self.strides[0], self._taps
        a, b = self.kernel.shape[2:]
        after = stride * count - before - self.kernel_size[0]
        kernel = tf.cast(self.kernel, dtype)
        if before or after:
            kernel = tf.pad(kernel, [[before, after]] * 2 + [[0, 0]] * 2)
        kernel = tf.reshape(kernel, [count, stride, count, stride, a, b])
        kernel = tf.reshape(tf.transpose(kernel, [0, 2, 1, 3, 4, 5]), [count**2, -1])
        spectrum = tf.matmul(tf.constant(self._matrices[1], dtype), kernel)
        return tf.reshape(spectrum, [-1, stride**2 * a, b])

    def _convolved(self, maps: tf.Tensor, *, transpose_b: bool) -> tf.Tensor:
        """The products of `maps` [places, B, C] in the frequency domain: [places, B, ...]."""
        to_x, _, back = (tf.constant(matrix, maps.dtype) for matrix in self._matrices)
        places, batch, channels = tf.unstack(tf.shape(maps))
        waves = tf.matmul(to_x, tf.reshape(maps, [places, -1]))
        waves = tf.reshape(waves, [-1, batch, maps.shape[2] or channels])
        found = tf.matmul(waves, self._spectrum(maps.dtype), transpose_b=transpose_b)
        filters = found.shape[2]
        found = tf.matmul(back, tf.reshape(found, [back.shape[1], -1]))
        return tf.reshape(found, [places, batch, filters])


class SpectralConv2D(_Spectral, keras.layers.Conv2D):  # type: ignore[misc]
    """`Conv2D` with padding "same" on square maps: [B, N, N, C] -> [B, N / s, N / s, filters]."""

    def __init__(self, filters: int, kernel_size: int, strides: int = 1, **kwargs: Any) -> None:
        super().__init__(filters, kernel_size, strides, "same", **kwargs)

    def build(self, input_shape: tuple[int | None, ...]) -> None:
        super().build(input_shape)
        self._prepare(_side(input_shape), transposed=False)

    def call(self, inputs: tf.Tensor) -> tf.Tensor:
        stride, (batch, side, _, channels) = self.strides[0], inputs.shape
        batch, small = tf.shape(inputs)[0] if batch is None else batch, side // stride
        x = tf.reshape(inputs, [batch, small, stride, small, stride, channels])
        x = tf.reshape(tf.transpose(x, [1, 3, 0, 2, 4, 5]), [small**2, batch, stride**2 * channels])
        y = self._convolved(x, transpose_b=False)
        y = tf.reshape(tf.transpose(y, [1, 0, 2]), [batch, small, small, self.filters])
        return tf.nn.bias_add(y, tf.cast(self.bias, y.dtype)) if self.use_bias else y


class SpectralConv2DTranspose(_Spectral, keras.layers.Conv2DTranspose):  # type: ignore[misc]
    """`Conv2DTranspose` with padding "same" on square maps: [B, N, N, C] -> [B, s N, s N,
    filters]."""

    def __init__(self, filters: int, kernel_size: int, strides: int = 1, **kwargs: Any) -> None:
        super().__init__(filters, kernel_size, strides, "same", **kwargs)

    def build(self, input_shape: tuple[int | None, ...]) -> None:
        super().build(input_shape)
        self._prepare(_side(input_shape) * self.strides[0], transposed=True)

    def call(self, inputs: tf.Tensor) -> tf.Tensor:
        stride, (batch, side, _, channels) = self.strides[0], inputs.shape
        batch = tf.shape(inputs)[0] if batch is None else batch
        x = tf.transpose(tf.reshape(inputs, [batch, side**2, channels]), [1, 0, 2])
        y = self._convolved(x, transpose_b=True)
        y = tf.reshape(y, [side, side, batch, stride, stride, self.filters])
        larger = side * stride
        y = tf.reshape(tf.transpose(y, [2, 0, 3, 1, 4, 5]), [batch, larger, larger, self.filters])
        return tf.nn.bias_add(y, tf.cast(self.bias, y.dtype)) if self.use_bias else y


def _side(shape: tuple[int | None, ...]) -> int:
    assert shape[1] == shape[2], "square maps only"
    return int(shape[1] or 0)
