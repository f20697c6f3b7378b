"""The image grid of a run: always the same latents, so that grids of different epochs and runs can be compared."""

from __future__ import annotations

import io

import keras
import numpy as np
import numpy.typing as npt
import tensorflow as tf
from PIL import Image

from gan import streams
from gan.config import RunConfig
from gan.keys import Purpose


def latents(config: RunConfig) -> tf.Tensor:
    """The run's fixed latents [grid_size ** 2, latent_dim] float32, a function of its seed."""
    return streams.normal(config.seed, Purpose.GRID, tf.constant(0), tf.constant(0), config.grid_size**2, config.latent_dim)


def grid_png(config: RunConfig, generator: keras.Model) -> bytes:
    """PNG of grid_size x grid_size images that `generator` makes of the fixed latents (moving statistics, no training)."""
    return png(generator(latents(config), training=False).numpy(), config.grid_size)


def png(images: npt.NDArray[np.float32], columns: int) -> bytes:
    """PNG of images [n, height, width, channels] in [-1, 1], `columns` per row, n a multiple of it; NaN is black."""
    n, height, width, channels = images.shape
    pixels = np.clip(np.nan_to_num(images, nan=-1.0) * 127.5 + 127.5, 0, 255).round().astype(np.uint8)
    sheet = pixels.reshape(n // columns, columns, height, width, channels).swapaxes(1, 2).reshape(-1, columns * width, channels)
    buffer = io.BytesIO()
    Image.fromarray(sheet.squeeze(2) if channels == 1 else sheet).save(buffer, "PNG", compress_level=6)
    return buffer.getvalue()
