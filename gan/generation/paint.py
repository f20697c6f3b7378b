"""A stored generator back in memory, and what it draws."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

import keras
import numpy as np
import numpy.typing as npt
import tensorflow as tf

from ganboard.gan.checkpoint import store
from ganboard.gan.checkpoint.store import CheckpointError
from ganboard.gan.config import DRAWN, RunConfig
from ganboard.gan.generation.latent_requests import LatentRequest, Latents
from ganboard.gan.modeling import recipe
from ganboard.gan.rng import tf_philox
from ganboard.gan.rng.philox import Purpose


def restore(config: RunConfig, directory: Path, step: int) -> keras.Model:
    """The generator whose images are shown (with `ema` the average) as it was after `step`. Raises
    CheckpointError in one sentence."""
    if config.model not in DRAWN:
        raise CheckpointError(
            f"model={config.model} has no latent space to draw from: its tab Prediction and"
            " `ganboard predict` use it."
        )
    alone = {"replicas": 1, "strategy": "auto", "accumulate": 1, "xla": False}
    generator, _ = recipe.make(config.model_copy(update=alone)).networks()
    fill(generator, config, directory, step)
    return generator


def draw(
    generator: keras.Model, config: RunConfig, request: LatentRequest
) -> npt.NDArray[np.float32]:
    """Pictures [n, side, side, 1] in [-1, 1] of what is asked for. Raises InvalidRequest."""
    pictures: npt.NDArray[np.float32] = import_module(
        f"ganboard.gan.models.{config.model}.generation"
    ).draw(generator, config, request)
    return pictures


def fill(generator: keras.Model, config: RunConfig, directory: Path, step: int) -> None:
    """Give `generator` the weights whose images are shown, as they were after `step`. Raises
    CheckpointError in one sentence."""
    part = "average" if config.ema else "generator"
    arrays = store.part(directory, step, f"{part}/")
    for variable in generator.variables:
        array = arrays.get(f"{part}/{variable.path}")
        if array is None or array.shape != tuple(variable.shape):
            raise CheckpointError(
                f"The checkpoint of step {step} does not fit the generator of this version in"
                f" {variable.path}."
            )
        variable.assign(array)


def normal(seed: int, first: int, rows: int, width: int) -> Latents:
    """Latents [rows, width] from row `first`; those of a run's own seed are the ones of its image
    grid."""
    latents: Latents = tf_philox.normal(
        seed, Purpose.GRID, tf.constant(0), tf.constant(first), rows, width
    ).numpy()
    return latents


def images(generator: keras.Model, latents: Latents) -> npt.NDArray[np.float32]:
    """What G makes of latents [n, latent_dim]: DCGAN images [n, 28, 28, 1] in [-1, 1] (moving
    statistics, no training)."""
    drawn: npt.NDArray[np.float32] = generator(tf.constant(latents), training=False).numpy()
    return drawn
