"""Three-dimensional convolutions between few channels, which fill the width of a processor's
vectors.

oneDNN computes 16 output channels at once, so one with 8 wastes half of the time and one with a
single channel 15 sixteenths: the gradient that goes back to an image is such a convolution. Here a
block of neighbouring outputs along the last axes counts as channels: a convolution with as many
strides, whose kernel holds the kernel once for each place of a block. From 32 to 8 channels on
25x25x25 cells (5x5x5 taps, 16 events, two cores) 144 -> 93 ms, to one channel 148 -> 50 ms; the
kernel's gradient 146 -> 109 ms.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import keras
import tensorflow as tf

LANES = 16  # float32 values of a vector of AVX-512, and the least that bfloat16 products take
_ONE = [1] * 5


class BlockedConv3D(keras.layers.Conv3D):  # type: ignore[misc]
    """`Conv3D` with stride 1."""

    def __init__(
        self, filters: int, kernel_size: Sequence[int], strides: int, padding: str, **kwargs: Any
    ) -> None:
        super().__init__(filters, kernel_size, strides, padding, **kwargs)

    def call(self, inputs: tf.Tensor) -> tf.Tensor:
        kernel = tf.cast(self.kernel, inputs.dtype)
        if self.padding == "same":
            inputs = _padded(inputs, [((n - 1) // 2, n // 2) for n in self.kernel_size])
        y = _convolution(inputs, kernel)
        return tf.nn.bias_add(y, tf.cast(self.bias, y.dtype)) if self.use_bias else y


def block(kernel: Sequence[int], filters: int) -> tuple[int, int]:
    """Outputs along the last two axes that count as channels: the block with the fewest products
    for each output, counting empty lanes."""

    def cost(sides: tuple[int, int]) -> float:
        count = sides[0] * sides[1]
        lanes = -(-filters * count // LANES) * LANES
        return lanes * (kernel[1] + sides[0] - 1) * (kernel[2] + sides[1] - 1) / count

    return min(((a, b) for a in (1, 2, 4) for b in (1, 2, 4) if a <= b), key=cost)


def _convolution(maps: tf.Tensor, kernel: tf.Tensor) -> tf.Tensor:
    """`maps` [B, X, Y, Z, C] with `kernel` [k, l, m, C, F], "valid"."""
    size, channels = kernel.shape[:3], kernel.shape[3]

    @tf.custom_gradient  # type: ignore[untyped-decorator]
    def convolution(maps: tf.Tensor, kernel: tf.Tensor) -> tuple[tf.Tensor, Any]:
        def gradient(pull: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
            return of_maps(pull), _of_kernel(maps, kernel, pull)

        def of_maps(pull: tf.Tensor) -> tf.Tensor:
            if channels >= LANES:
                return tf.raw_ops.Conv3DBackpropInputV2(
                    input_sizes=tf.shape(maps),
                    filter=kernel,
                    out_backprop=pull,
                    strides=_ONE,
                    padding="VALID",
                )
            turned = tf.transpose(tf.reverse(kernel, [0, 1, 2]), [0, 1, 2, 4, 3])
            return _convolution(_padded(pull, [(n - 1, n - 1) for n in size]), turned)

        return _blocked(maps, kernel), gradient

    return convolution(maps, kernel)


def _blocked(maps: tf.Tensor, kernel: tf.Tensor) -> tf.Tensor:
    filters = kernel.shape[4]
    sides = block(kernel.shape[:3], filters)
    if sides == (1, 1):
        return tf.nn.conv3d(maps, kernel, _ONE, "VALID")
    size, blocks = _outputs(maps, kernel, sides)
    held = [tf.pad(kernel, [(0, 0), *at, (0, 0), (0, 0)]) for at in _places(sides)]
    maps = _filled(maps, size, blocks, sides)
    y = tf.nn.conv3d(maps, tf.concat(held, -1), [1, 1, *sides, 1], "VALID")
    y = tf.reshape(y, [-1, size[0], *blocks, *sides, filters])
    y = tf.transpose(y, [0, 1, 2, 4, 3, 5, 6])
    larger = [n * side for n, side in zip(blocks, sides, strict=True)]
    return tf.reshape(y, [-1, size[0], *larger, filters])[:, :, : size[1], : size[2]]


def _of_kernel(maps: tf.Tensor, kernel: tf.Tensor, pull: tf.Tensor) -> tf.Tensor:
    taps, filters = kernel.shape[:3], kernel.shape[4]
    sides = block(taps, filters)
    size, blocks = _outputs(maps, kernel, sides)
    maps = _filled(maps, size, blocks, sides)
    if sides != (1, 1):
        edges = [(0, n * side - m) for n, side, m in zip(blocks, sides, size[1:], strict=True)]
        pull = _padded(pull, [(0, 0), *edges])
        pull = tf.reshape(pull, [-1, size[0], blocks[0], sides[0], blocks[1], sides[1], filters])
        pull = tf.transpose(pull, [0, 1, 2, 4, 3, 5, 6])
        pull = tf.reshape(pull, [-1, size[0], *blocks, sides[0] * sides[1] * filters])
    held = [n + side - 1 for n, side in zip(taps[1:], sides, strict=True)]
    found = tf.raw_ops.Conv3DBackpropFilterV2(
        input=maps,
        filter_sizes=[taps[0], *held, kernel.shape[3], pull.shape[-1]],
        out_backprop=pull,
        strides=[1, 1, *sides, 1],
        padding="VALID",
    )
    parts = tf.split(found, sides[0] * sides[1], -1)
    return tf.add_n(
        [
            part[:, y[0] : y[0] + taps[1], z[0] : z[0] + taps[2]]
            for part, (y, z) in zip(parts, _places(sides), strict=True)
        ]
    )


def _outputs(
    maps: tf.Tensor, kernel: tf.Tensor, sides: tuple[int, int]
) -> tuple[list[int], list[int]]:
    """Places of the output along each axis, and blocks along the last two."""
    size = [n - k + 1 for n, k in zip(maps.shape[1:4], kernel.shape[:3], strict=True)]
    return size, [-(-n // side) for n, side in zip(size[1:], sides, strict=True)]


def _filled(
    maps: tf.Tensor, size: list[int], blocks: list[int], sides: tuple[int, int]
) -> tf.Tensor:
    """`maps` with zeros behind, so that the last blocks are whole."""
    missing = [n * side - m for n, side, m in zip(blocks, sides, size[1:], strict=True)]
    if not any(missing):
        return maps
    return _padded(maps, [(0, 0), *((0, n) for n in missing)])


def _places(sides: tuple[int, int]) -> Iterator[list[tuple[int, int]]]:
    """Zeros around the kernel, along both axes, at each place of a block."""
    for y in range(sides[0]):
        for z in range(sides[1]):
            yield [(y, sides[0] - 1 - y), (z, sides[1] - 1 - z)]


def _padded(maps: tf.Tensor, edges: Sequence[tuple[int, int]]) -> tf.Tensor:
    """`maps` [B, X, Y, Z, C] with zeros around X, Y and Z.

    Not by `tf.pad`: without gradients TensorFlow 2.21 merges it into the convolution that follows,
    and loses the edges of one with strides.
    """
    zero = tf.zeros([], maps.dtype)
    return tf.raw_ops.PadV2(input=maps, paddings=[(0, 0), *edges, (0, 0)], constant_values=zero)
