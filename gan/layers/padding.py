"""What a convolution sees beyond the edges of a map, where zeros would be a wall."""

from __future__ import annotations

from typing import Any

import keras
import tensorflow as tf

from ganboard.gan.architecture import Shape


class EdgePadding2D(keras.layers.Layer):  # type: ignore[misc]
    """[B, H, W, C] -> [B, H + 2 h, W + 2 w, C] for `sides` (h, w): the outermost cells repeated;
    with `periodic` those of the opposite edge above and below."""

    def __init__(self, sides: Shape, *, periodic: bool, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.sides, self.periodic = sides, periodic

    def call(self, maps: tf.Tensor) -> tf.Tensor:
        down, across = self.sides
        if self.periodic:
            maps = tf.concat([maps[:, -down:], maps, maps[:, :down]], 1)
        else:
            maps = _repeated(maps, down, 1)
        return _repeated(maps, across, 2)

    def compute_output_shape(self, shape: Any) -> tuple[Any, ...]:
        batch, *size, channels = shape
        grown = (n and n + 2 * more for n, more in zip(size, self.sides, strict=True))
        return (batch, *grown, channels)


def _repeated(maps: tf.Tensor, count: int, axis: int) -> tf.Tensor:
    first, last = (tf.gather(maps, [at] * count, axis=axis) for at in (0, maps.shape[axis] - 1))
    return tf.concat([first, maps, last], axis)
