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
Edges = Sequence[tuple[int, int]]  # zeros before and behind X, Y and Z


class BlockedConv3D(keras.layers.Conv3D):  # type: ignore[misc]
    """`Conv3D` with stride 1, and where its padding is "valid" with `pads` zeros before and behind
    each axis, fewer than the kernel has taps, as `ZeroPadding3D` puts them.

    In one layer, as the gradient of the zeros is never computed: of 32 channels and 29x29x29 cells
    around 25x25x25 that is a third.
    """

    def __init__(
        self,
        filters: int,
        kernel_size: Sequence[int],
        strides: int = 1,
        padding: str = "valid",
        pads: Sequence[int] = (0, 0, 0),
        **kwargs: Any,
    ) -> None:
        super().__init__(filters, kernel_size, strides, padding, **kwargs)
        self.pads = tuple(pads)

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "pads": self.pads}

    def keras_layer(self) -> tuple[keras.Layer, list[Any]]:
        """Keras's layers that compute the same, and the weights."""
        plain = keras.layers.Conv3D.from_config(super().get_config() | {"dtype": "float32"})
        if not any(self.pads):
            return plain, self.weights
        layers = keras.layers.ZeroPadding3D(self.pads), plain
        return keras.Sequential(layers, name=self.name), self.weights

    def compute_output_shape(self, input_shape: Sequence[Any]) -> tuple[Any, ...]:
        sides = (n + 2 * pad for n, pad in zip(input_shape[1:4], self.pads, strict=True))
        found: tuple[Any, ...] = super().compute_output_shape(
            (input_shape[0], *sides, input_shape[4])
        )
        return found

    def call(self, inputs: tf.Tensor) -> tf.Tensor:
        kernel = tf.cast(self.kernel, inputs.dtype)
        edges = [(pad, pad) for pad in self.pads]
        y = _convolution(inputs, kernel, _same(kernel) if self.padding == "same" else edges)
        return tf.nn.bias_add(y, tf.cast(self.bias, y.dtype)) if self.use_bias else y


def block(kernel: Sequence[int], filters: int) -> tuple[int, int]:
    """Outputs along the last two axes that count as channels: the block with the fewest products
    for each output, counting empty lanes."""

    def cost(sides: tuple[int, int]) -> float:
        count = sides[0] * sides[1]
        lanes = -(-filters * count // LANES) * LANES
        return lanes * (kernel[1] + sides[0] - 1) * (kernel[2] + sides[1] - 1) / count

    return min(((a, b) for a in (1, 2, 4) for b in (1, 2, 4) if a <= b), key=cost)


def _same(kernel: tf.Tensor) -> Edges:
    return [((n - 1) // 2, n // 2) for n in kernel.shape[:3]]


def _convolution(maps: tf.Tensor, kernel: tf.Tensor, edges: Edges) -> tf.Tensor:
    """`maps` [B, X, Y, Z, C] with zeros around them, fewer than taps, and `kernel` [k, l, m, C,
    F]."""
    size, channels = kernel.shape[:3], kernel.shape[3]
    known = {"VALID": [(0, 0)] * 3, "SAME": _same(kernel)}

    @tf.custom_gradient  # type: ignore[untyped-decorator]
    def convolution(maps: tf.Tensor, kernel: tf.Tensor) -> tuple[tf.Tensor, Any]:
        def gradient(pull: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
            return of_maps(pull), _of_kernel(maps, kernel, pull, edges)

        def of_maps(pull: tf.Tensor) -> tf.Tensor:
            if channels >= LANES and edges in known.values():
                return tf.raw_ops.Conv3DBackpropInputV2(
                    input_sizes=tf.shape(maps),
                    filter=kernel,
                    out_backprop=pull,
                    strides=_ONE,
                    padding=next(name for name in known if known[name] == edges),
                )
            turned = tf.transpose(tf.reverse(kernel, [0, 1, 2]), [0, 1, 2, 4, 3])
            around = [(n - 1 - a, n - 1 - b) for n, (a, b) in zip(size, edges, strict=True)]
            return _convolution(pull, turned, around)

        return _blocked(maps, kernel, edges), gradient

    return convolution(maps, kernel)


def _blocked(maps: tf.Tensor, kernel: tf.Tensor, edges: Edges) -> tf.Tensor:
    filters = kernel.shape[4]
    sides = block(kernel.shape[:3], filters)
    size, blocks = _outputs(maps, kernel, edges, sides)
    maps = _filled(maps, edges, size, blocks, sides)
    if sides == (1, 1):
        return tf.nn.conv3d(maps, kernel, _ONE, "VALID")
    held = [tf.pad(kernel, [(0, 0), *at, (0, 0), (0, 0)]) for at in _places(sides)]
    y = tf.nn.conv3d(maps, tf.concat(held, -1), [1, 1, *sides, 1], "VALID")
    y = tf.reshape(y, [-1, size[0], *blocks, *sides, filters])
    y = tf.transpose(y, [0, 1, 2, 4, 3, 5, 6])
    larger = [n * side for n, side in zip(blocks, sides, strict=True)]
    return tf.reshape(y, [-1, size[0], *larger, filters])[:, :, : size[1], : size[2]]


def _of_kernel(maps: tf.Tensor, kernel: tf.Tensor, pull: tf.Tensor, edges: Edges) -> tf.Tensor:
    taps, filters = kernel.shape[:3], kernel.shape[4]
    sides = block(taps, filters)
    size, blocks = _outputs(maps, kernel, edges, sides)
    maps = _filled(maps, edges, size, blocks, sides)
    if sides != (1, 1):
        behind = [(0, n * side - m) for n, side, m in zip(blocks, sides, size[1:], strict=True)]
        pull = _padded(pull, [(0, 0), *behind])
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
    maps: tf.Tensor, kernel: tf.Tensor, edges: Edges, sides: tuple[int, int]
) -> tuple[list[int], list[int]]:
    """Places of the output along each axis, and blocks along the last two."""
    axes = zip(maps.shape[1:4], kernel.shape[:3], edges, strict=True)
    size = [n + sum(zeros) - k + 1 for n, k, zeros in axes]
    return size, [-(-n // side) for n, side in zip(size[1:], sides, strict=True)]


def _filled(
    maps: tf.Tensor, edges: Edges, size: list[int], blocks: list[int], sides: tuple[int, int]
) -> tf.Tensor:
    """`maps` with the zeros around them, and as many behind that the last blocks are whole."""
    missing = [n * side - m for n, side, m in zip(blocks, sides, size[1:], strict=True)]
    around = [(a, b + more) for (a, b), more in zip(edges, [0, *missing], strict=True)]
    return _padded(maps, around) if any(map(any, around)) else maps


def _places(sides: tuple[int, int]) -> Iterator[list[tuple[int, int]]]:
    """Zeros around the kernel, along both axes, at each place of a block."""
    for y in range(sides[0]):
        for z in range(sides[1]):
            yield [(y, sides[0] - 1 - y), (z, sides[1] - 1 - z)]


def _padded(maps: tf.Tensor, edges: Edges) -> tf.Tensor:
    """`maps` [B, X, Y, Z, C] with zeros around X, Y and Z.

    Not by `tf.pad`: without gradients TensorFlow 2.21 merges it into the convolution that follows,
    and loses the edges of one with strides.
    """
    zero = tf.zeros([], maps.dtype)
    return tf.raw_ops.PadV2(input=maps, paddings=[(0, 0), *edges, (0, 0)], constant_values=zero)
