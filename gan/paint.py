"""A stored generator back in memory, and what it draws."""

from __future__ import annotations

from pathlib import Path

import keras
import numpy as np
import numpy.typing as npt
import tensorflow as tf

from gan import checkpoints, streams
from gan.checkpoints import CheckpointError
from gan.config import DRAWN, RunConfig
from gan.keys import Purpose
from gan.latent import Latents
from gan.models.dcgan import networks


def restore(config: RunConfig, directory: Path, step: int) -> keras.Model:
    """The generator whose images are shown (with `ema` the average) as it was after `step`. Raises CheckpointError in one sentence."""
    if config.model != DRAWN:
        raise CheckpointError(f"The playground draws from noise alone, with model={DRAWN}: this run's model is {config.model}.")
    generator = networks.generator(config.model_copy(update={"replicas": 1}))
    fill(generator, config, directory, step)
    return generator


def fill(generator: keras.Model, config: RunConfig, directory: Path, step: int) -> None:
    """Give `generator` the weights whose images are shown, as they were after `step`. Raises CheckpointError in one sentence."""
    part = "average" if config.ema else "generator"
    arrays = checkpoints.part(directory, step, f"{part}/")
    for variable in generator.variables:
        array = arrays.get(f"{part}/{variable.path}")
        if array is None or array.shape != tuple(variable.shape):
            raise CheckpointError(f"The checkpoint of step {step} does not fit the generator of this version in {variable.path}.")
        variable.assign(array)


def normal(seed: int, first: int, rows: int, width: int) -> Latents:
    """Latents [rows, width] from row `first`; those of a run's own seed are the ones of its image grid."""
    latents: Latents = streams.normal(seed, Purpose.GRID, tf.constant(0), tf.constant(first), rows, width).numpy()
    return latents


def images(generator: keras.Model, latents: Latents) -> npt.NDArray[np.float32]:
    """Images [n, 28, 28, 1] in [-1, 1] (moving statistics, no training)."""
    drawn: npt.NDArray[np.float32] = generator(tf.constant(latents), training=False).numpy()
    return drawn
