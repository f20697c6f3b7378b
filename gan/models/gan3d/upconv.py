"""Nearest up-sampling and the convolution behind it in one layer, folded: the same function and
weights with fewer products.

Up-sampling by s writes every value s times per axis, so of a kernel of k taps several fall on the
same value: for output p = s q + r they fall on value q + floor((r + i - pad) / s), i = 0 .. k - 1.
Summing those taps beforehand gives, for each of the s remainders r, a small kernel on the map
before up-sampling; the s^3 results are laid out as depth-to-space does. For 3DGAN's first
convolution (9x9x8 maps, s = 6, kernel 6x6x8) 288 taps become 12, and 1,814 million products 94
(Dumoulin and Visin 2016, section 4, has the arithmetic of strides; sub-pixel layouts are those of
Shi et al. 2016).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import keras
import numpy as np
import numpy.typing as npt
import tensorflow as tf

from ganboard.gan.models.gan3d.architecture import Three


def taps(factor: int, kernel: int, pad: int) -> tuple[int, npt.NDArray[np.float32]]:
    """Along one axis: (first, M [factor, taps, kernel]) so that tap t of remainder r, on value q +
    first + t, is the sum over i of M[r, t, i] w[i]. `pad` zeros stand before the up-sampled map."""
    at = np.array([[(r + i - pad) // factor for i in range(kernel)] for r in range(factor)])
    first = int(at.min())
    return first, (at[:, None, :] - first == np.arange(at.max() - first + 1)[None, :, None]).astype(
        np.float32
    )


class UpConv3D(keras.layers.Layer):  # type: ignore[misc]
    """`UpSampling3D(factors)`, `ZeroPadding3D(pads)` and `Conv3D(filters, kernel, "valid")` in one.

    [B, X, Y, Z, C] -> [B, X', Y', Z', filters]. Weights are those of that `Conv3D`; `folded=False`
    computes as it is written.
    """

    def __init__(
        self,
        filters: int,
        kernel: Three,
        factors: Three,
        pads: Three = (0, 0, 0),
        *,
        folded: bool = True,
        initializer: Any,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.filters, self.size, self.factors, self.pads, self.folded = (
            filters,
            kernel,
            factors,
            pads,
            folded,
        )
        self._initializer = initializer

    def keras_layer(self) -> tuple[keras.Sequential, list[Any]]:
        """The three layers that this one folds, and its weights."""
        three = (
            keras.layers.UpSampling3D(self.factors),
            keras.layers.ZeroPadding3D(self.pads),
            keras.layers.Conv3D(self.filters, self.size),
        )
        return keras.Sequential(three, name=self.name), self.weights

    def build(self, input_shape: tuple[int | None, ...]) -> None:
        channels = int(input_shape[-1] or 0)
        self.kernel = self.add_weight(
            shape=(*self.size, channels, self.filters), initializer=self._initializer, name="kernel"
        )
        self.bias = self.add_weight(shape=(self.filters,), initializer="zeros", name="bias")
        self._taps = [taps(*axis) for axis in zip(self.factors, self.size, self.pads, strict=True)]

    def compute_output_shape(self, input_shape: tuple[int | None, ...]) -> tuple[int | None, ...]:
        axes = zip(input_shape[1:4], self.factors, self.pads, self.size, strict=True)
        return (
            input_shape[0],
            *(int(n or 0) * s + 2 * pad - k + 1 for n, s, pad, k in axes),
            self.filters,
        )

    def call(self, inputs: tf.Tensor) -> tf.Tensor:
        kernel, bias = tf.cast(self.kernel, inputs.dtype), tf.cast(self.bias, inputs.dtype)
        return (self._folded(inputs, kernel) if self.folded else self._plain(inputs, kernel)) + bias

    def _plain(self, x: tf.Tensor, kernel: tf.Tensor) -> tf.Tensor:
        for axis, factor in enumerate(self.factors, 1):
            x = tf.repeat(x, factor, axis)
        return tf.nn.conv3d(
            tf.pad(x, [(0, 0), *((pad, pad) for pad in self.pads), (0, 0)]),
            kernel,
            [1] * 5,
            "VALID",
        )

    def _folded(self, x: tf.Tensor, kernel: tf.Tensor) -> tf.Tensor:
        sums = [tf.constant(matrix, kernel.dtype) for _, matrix in self._taps]
        channels, filters = x.shape[-1], self.filters
        small = tf.einsum("rti,ijkcf->rtjkcf", sums[0], kernel)
        small = tf.einsum("suj,rtjkcf->rsutkcf", sums[1], small)
        small = tf.einsum("vwk,rsutkcf->tuwcrsvf", sums[2], small)
        small = tf.reshape(
            small,
            [*(matrix.shape[1] for matrix in sums), channels, int(np.prod(self.factors)) * filters],
        )
        out = [int(n or 0) for n in self.compute_output_shape(x.shape)[1:4]]
        quotients = [-(-n // s) for n, s in zip(out, self.factors, strict=True)]
        edges = []
        for axis, (first, matrix) in enumerate(self._taps):
            edges.append(
                (-first, max(0, quotients[axis] + matrix.shape[1] - 1 + first - x.shape[axis + 1]))
            )
        x = tf.nn.conv3d(tf.pad(x, [(0, 0), *edges, (0, 0)]), small, [1] * 5, "VALID")
        x = _first(x, quotients)
        x = tf.reshape(x, [-1, *quotients, *self.factors, filters])
        x = tf.transpose(x, [0, 1, 4, 2, 5, 3, 6, 7])
        x = tf.reshape(
            x, [-1, *(q * s for q, s in zip(quotients, self.factors, strict=True)), filters]
        )
        return _first(x, out)


def _first(maps: tf.Tensor, sides: Sequence[int]) -> tf.Tensor:
    """The first cells of `maps` [B, X, Y, Z, C] along X, Y and Z.

    Not by an index, whose gradient takes ten times as long as this one's.
    """
    return tf.slice(maps, [0] * 5, [-1, *sides, maps.shape[-1]])
