"""What a model of one file costs, by its own networks. Free of TensorFlow."""

from __future__ import annotations

from ganboard.gan.config import ConfigError
from ganboard.gan.costs import evaluation, measured, simultaneous
from ganboard.gan.costs.layer import LayerCost
from ganboard.gan.data.pictures import named
from ganboard.gan.data.pictures.rows import HELD_BYTES
from ganboard.gan.settings.pictures import PictureConfig

_WORKING = 3 * 4  # bytes for each value of the largest map on its way


def known(config: PictureConfig) -> bool:
    """Whether the networks were measured already; if not, that begins."""
    return measured.layers(config) is not None


def problem(config: PictureConfig) -> str:
    """Why the networks could not be measured; empty where nothing failed."""
    return measured.problem(config)


def data_bytes(config: PictureConfig, examples: int) -> int:
    """Bytes of pictures as read and as a constant of TensorFlow; of those in the cache the constant
    alone, if they are not read from there at each step."""
    taken = _values(config) * examples
    if config.dataset != "images":
        return 2 * taken
    return taken if taken <= HELD_BYTES else 0


def evaluation_bytes(config: PictureConfig) -> int:
    """Bytes that an evaluation of quality takes, while nothing trains."""
    return evaluation.evaluation_bytes(config, _values(config))


def examples(config: PictureConfig) -> int:
    """How many pictures the data set has, where nobody has counted them."""
    return named.TYPICAL


def generator(config: PictureConfig, on_cpu: bool = True) -> tuple[LayerCost, ...]:
    """The generator, from noise to picture."""
    return _layers(config)[0]


def discriminator(config: PictureConfig, on_cpu: bool = True) -> tuple[LayerCost, ...]:
    """The discriminator, from picture to logit."""
    return _layers(config)[1]


def step_macs(config: PictureConfig) -> int:
    """Multiply-accumulates of a training step for each picture of the batch."""
    return simultaneous.step_macs(config, *_layers(config))


def image_bytes(config: PictureConfig, *, on_gpu: bool = False) -> int:
    """Bytes per picture of a micro-batch: what both nets keep, and the largest map on its way."""
    layers = _layers(config)
    largest = max(layer.leaving for net in layers for layer in net)
    return simultaneous.kept_bytes(config, *layers) + _WORKING * largest


def _values(config: PictureConfig) -> int:
    return config.image_size**2 * config.channels


def _layers(config: PictureConfig) -> tuple[measured.Layers, measured.Layers]:
    found = measured.layers(config, wait=True)
    if found is None:
        raise ConfigError(f"model={config.model} has no estimates. {measured.problem(config)}")
    return found
