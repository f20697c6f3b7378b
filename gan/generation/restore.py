"""The generator of a run, back in memory from a checkpoint."""

from __future__ import annotations

from pathlib import Path

import keras

from ganboard.gan.checkpoint import reader
from ganboard.gan.checkpoint.reader import Arrays, CheckpointError
from ganboard.gan.config import RunConfig
from ganboard.gan.modeling import recipe


class Misfit(ValueError):
    """Weights of another network; the message is the path of a variable."""


def restore(config: RunConfig, directory: Path, step: int) -> keras.Model:
    """The generator whose images are shown (with `ema` the average) as it was after `step`. Raises
    CheckpointError in one sentence."""
    generator = untrained(config)
    load(generator, config, directory, step)
    return generator


def load(
    network: keras.Model,
    config: RunConfig,
    directory: Path,
    step: int,
    *,
    name: str = "generator",
    average: bool = True,
) -> None:
    """Give an untrained generator the weights of `restore`, or without `average` those that were
    trained; a discriminator those that it had. Raises CheckpointError."""
    part = "average/" if config.ema and average and name == "generator" else f"{name}/"
    arrays = reader.part(directory, step, part)
    try:
        assign(network, {path.removeprefix(part): array for path, array in arrays.items()})
    except Misfit as error:
        raise CheckpointError(
            f"The checkpoint of step {step} does not match the {name} of this version in {error}."
        ) from None


def untrained(config: RunConfig) -> keras.Model:
    """The generator with its initial weights, however the run is distributed."""
    return recipe.make(alone(config)).networks()[0]


def alone(config: RunConfig) -> RunConfig:
    """The same run on one replica."""
    once = {"replicas": 1, "strategy": "auto", "accumulate": 1, "xla": False}
    return config.model_copy(update=once)


def assign(network: keras.Model, weights: Arrays) -> None:
    """Give `network` these weights, by path. Raises Misfit where names or shapes differ."""
    wanted = {variable.path: tuple(variable.shape) for variable in network.variables}
    given = {path: array.shape for path, array in weights.items()}
    for path in sorted(wanted.keys() | given.keys()):
        if wanted.get(path) != given.get(path):
            raise Misfit(path)
    for variable in network.variables:
        variable.assign(weights[variable.path])
