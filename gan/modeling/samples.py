"""The image grid of a run: always the same latents, so that grids of different epochs and runs can
be compared."""

from __future__ import annotations

import io
import math
from collections.abc import Iterator

import keras
import numpy as np
import numpy.typing as npt
import tensorflow as tf
from PIL import Image

from ganboard.gan.config import RunConfig
from ganboard.gan.rng import tf_philox
from ganboard.gan.rng.philox import Purpose

_TOGETHER = 500
_VALUES = 1 << 22  # of the images that are made together


def latents(config: RunConfig) -> tf.Tensor:
    """The run's fixed latents [grid_size ** 2, latent_dim] float32, a function of its seed."""
    return tf_philox.normal(
        config.seed,
        Purpose.GRID,
        tf.constant(0),
        tf.constant(0),
        config.grid_size**2,
        config.latent_dim,
    )


def grid(config: RunConfig, generator: keras.Model) -> npt.NDArray[np.float32]:
    """Images [grid_size ** 2, 28, 28, 1] that `generator` makes of the fixed latents (moving
    statistics, no training)."""
    images: npt.NDArray[np.float32] = generator(latents(config), training=False).numpy()
    return images


def real(config: RunConfig, images: npt.NDArray[np.uint8]) -> npt.NDArray[np.float32]:
    """The first `grid_size ** 2` of the data set's `images` [N, H, W, C] in [-1, 1], black where
    there are no more."""
    count = config.grid_size**2
    some = images[:count].astype(np.float32) / 127.5 - 1
    return np.concatenate([some, np.full((count - len(some), *some.shape[1:]), -1, np.float32)])


def evaluated(config: RunConfig, generator: keras.Model) -> npt.NDArray[np.float32]:
    """The `quality_images` images [n, H, W, C] by which `generator` is evaluated; their latents
    are a function of the seed."""
    return np.concatenate(list(evaluated_portions(config, generator)))


def evaluated_portions(
    config: RunConfig, generator: keras.Model
) -> Iterator[npt.NDArray[np.float32]]:
    """`evaluated`, some images at a time."""
    z = tf_philox.normal(
        config.seed,
        Purpose.QUALITY,
        tf.constant(0),
        tf.constant(0),
        config.quality_images,
        config.latent_dim,
    )
    for part in tf.split(z, _portions(config.quality_images, generator)):
        yield generator(part, training=False).numpy()


def _portions(images: int, generator: keras.Model) -> list[int]:
    """Numbers of images that go through a network together, so that memory stays small."""
    together = max(1, min(_TOGETHER, _VALUES // math.prod(generator.output_shape[1:])))
    return [min(together, images - first) for first in range(0, images, together)]


def png(images: npt.NDArray[np.float32], columns: int) -> bytes:
    """PNG of images [n, height, width, channels] in [-1, 1], `columns` per row, n a multiple of it;
    NaN is black."""
    n, height, width, channels = images.shape
    pixels = (
        np.clip(np.nan_to_num(images, nan=-1.0) * 127.5 + 127.5, 0, 255).round().astype(np.uint8)
    )
    sheet = (
        pixels.reshape(n // columns, columns, height, width, channels)
        .swapaxes(1, 2)
        .reshape(-1, columns * width, channels)
    )
    buffer = io.BytesIO()
    Image.fromarray(sheet.squeeze(2) if channels == 1 else sheet).save(
        buffer, "PNG", compress_level=6
    )
    return buffer.getvalue()
