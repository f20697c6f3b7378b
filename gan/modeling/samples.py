"""The image grid of a run: always the same latents, so that grids of different epochs and runs can
be compared."""

from __future__ import annotations

import io
from typing import Any

import keras
import numpy as np
import numpy.typing as npt
import tensorflow as tf
from PIL import Image

from ganboard.gan.rng import tf_philox
from ganboard.gan.rng.philox import Purpose
from ganboard.gan.settings.adversarial import AdversarialConfig
from ganboard.gan.settings.run_config import RunConfig

_TOGETHER = 500


def latents(config: AdversarialConfig) -> tf.Tensor:
    """The run's fixed latents [grid_size ** 2, latent_dim] float32, a function of its seed."""
    return tf_philox.normal(
        config.seed,
        Purpose.GRID,
        tf.constant(0),
        tf.constant(0),
        config.grid_size**2,
        config.latent_dim,
    )


def grid(
    config: AdversarialConfig, generator: keras.Model, classes: int = 0
) -> npt.NDArray[np.float32]:
    """Images [grid_size ** 2, H, W, C] that `generator` makes of the fixed latents (moving
    statistics, no training); of a class per column where there are `classes`."""
    inputs = with_classes(latents(config), classes, config.grid_size)
    images: npt.NDArray[np.float32] = generator(inputs, training=False).numpy()
    return images


def with_classes(latents: tf.Tensor, classes: int, columns: int = 0) -> Any:
    """Inputs of a generator: `latents` [n, latent_dim], and labels [n] int32 where there are
    `classes`, one after the other, from the first again in each row of `columns`."""
    if not classes:
        return latents
    number = np.arange(len(latents))
    return [latents, tf.constant(number % (columns or len(latents)) % classes, tf.int32)]


def real(config: RunConfig, images: npt.NDArray[np.uint8]) -> npt.NDArray[np.float32]:
    """The first `grid_size ** 2` of the data set's `images` [N, H, W, C] in [-1, 1], black where
    there are no more."""
    count = config.grid_size**2
    some = images[:count].astype(np.float32) / 127.5 - 1
    return np.concatenate([some, np.full((count - len(some), *some.shape[1:]), -1, np.float32)])


def evaluated(config: AdversarialConfig, generator: keras.Model) -> npt.NDArray[np.float32]:
    """The `quality_images` images [n, 28, 28, 1] by which `generator` is evaluated; their latents
    are a function of the seed."""
    z = tf_philox.normal(
        config.seed,
        Purpose.QUALITY,
        tf.constant(0),
        tf.constant(0),
        config.quality_images,
        config.latent_dim,
    )
    return np.concatenate(
        [
            generator(part, training=False).numpy()
            for part in tf.split(z, _portions(config.quality_images))
        ]
    )


def _portions(images: int) -> list[int]:
    """Numbers of images that go through a network together, so that memory stays small."""
    return [min(_TOGETHER, images - first) for first in range(0, images, _TOGETHER)]


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
