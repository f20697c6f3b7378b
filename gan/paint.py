"""A stored generator back in memory, and what it draws."""

from __future__ import annotations

import math
from functools import partial
from pathlib import Path
from typing import cast

import keras
import numpy as np
import numpy.typing as npt
import tensorflow as tf

from gan import checkpoints, recipe, streams
from gan.checkpoints import CheckpointError
from gan.config import DRAWN, RunConfig
from gan.keys import Purpose
from gan.latent import Latents, Nearest, Wish, WishError

_TOGETHER = 8  # showers that go through a network together


def restore(config: RunConfig, directory: Path, step: int) -> keras.Model:
    """The generator whose images are shown (with `ema` the average) as it was after `step`. Raises CheckpointError in one sentence."""
    if config.model not in DRAWN:
        raise CheckpointError(f"model={config.model} has no latent space to draw from: its tab Prediction and `ganboard predict` use it.")
    alone = {"replicas": 1, "strategy": "auto", "accumulate": 1, "xla": False}
    generator, _ = recipe.make(config.model_copy(update=alone)).networks()
    fill(generator, config, directory, step)
    return generator


def draw(generator: keras.Model, config: RunConfig, wish: Wish) -> npt.NDArray[np.float32]:
    """Pictures [n, side, side, 1] in [-1, 1] of what is wished for. Raises WishError."""
    if config.model == "dcgan":
        if wish.energy is not None or wish.angle is not None:
            raise WishError("energy and angle have a meaning for showers only: leave them out.")
        return images(generator, wish.points(partial(normal, width=config.latent_dim)))
    from gan.models.gan3d import looks, losses, networks

    if isinstance(wish, Nearest):
        raise WishError(f"Training images are compared with images, and model={config.model} makes showers: draw or interpolate.")
    geometry = cast(networks.Geometry, config.geometry)
    if wish.angle is not None and geometry != "51x51x25":
        raise WishError(f"angle has no meaning for geometry={geometry}, whose angle is 90 degrees: leave it out.")
    noise = wish.points(partial(normal, width=networks.noise(geometry)))
    particle = [(wish.energy or 100.0) / 100, math.radians(90.0 if wish.angle is None else wish.angle), 0.0]
    latents = np.asarray(networks.latents(geometry, noise, np.tile(np.array(particle, np.float32), (len(noise), 1))))
    parts = [latents[first : first + _TOGETHER] for first in range(0, len(latents), _TOGETHER)]
    pictures = np.concatenate([looks.side(images(generator, part)[..., 0], losses.POWERS[geometry]) for part in parts])
    missing = pictures.shape[1] - pictures.shape[2]
    return np.pad(pictures, ((0, 0), (0, 0), (missing // 2, missing - missing // 2), (0, 0)), constant_values=-1)


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
    """What G makes of latents [n, latent_dim]: DCGAN images [n, 28, 28, 1] in [-1, 1] (moving statistics, no training)."""
    drawn: npt.NDArray[np.float32] = generator(tf.constant(latents), training=False).numpy()
    return drawn
