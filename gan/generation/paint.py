"""A stored generator back in memory, and what it draws."""

from __future__ import annotations

from pathlib import Path

import keras
import numpy as np
import numpy.typing as npt
import tensorflow as tf

from ganboard.gan.checkpoint.reader import CheckpointError
from ganboard.gan.config import RunConfig
from ganboard.gan.generation import labels
from ganboard.gan.generation import restore as stored
from ganboard.gan.generation.latent_requests import LatentRequest, Latents
from ganboard.gan.rng import tf_philox
from ganboard.gan.rng.philox import Purpose
from ganboard.gan.settings import registry


def restore(config: RunConfig, directory: Path, step: int) -> keras.Model:
    """A generator to draw with, as it was after `step`. Raises CheckpointError in one sentence."""
    if not registry.of(config).spec.has_latent_space:
        raise CheckpointError(
            f"model={config.model} has no latent space. Use the Prediction tab or `ganboard"
            " predict`."
        )
    return stored.restore(config, directory, step)


def draw(
    generator: keras.Model, config: RunConfig, request: LatentRequest
) -> npt.NDArray[np.float32]:
    """Requested pictures [n, side, side, 1] in [-1, 1]. Raises InvalidRequest."""
    drawing = registry.of(config).part("generation")
    pictures: npt.NDArray[np.float32] = drawing.draw(generator, config, request)
    return pictures


def normal(seed: int, first: int, rows: int, width: int) -> Latents:
    """Latents [rows, width] from row `first`; those of a run's own seed are the ones of its image
    grid."""
    latents: Latents = tf_philox.normal(
        seed, Purpose.GRID, tf.constant(0), tf.constant(first), rows, width
    ).numpy()
    return latents


def images(generator: keras.Model, latents: Latents) -> npt.NDArray[np.float32]:
    """What G makes of latents [n, latent_dim], or of those that `labels.joined` made (moving
    statistics, no training): images [n, H, W, C] in [-1, 1]."""
    points = labels.inputs(generator, tf.constant(latents))
    outputs: npt.NDArray[np.float32] = generator(points, training=False).numpy()
    return outputs
