"""What 3DGAN costs, from its layers. Free of TensorFlow."""

from __future__ import annotations

from ganboard.gan.architecture import output_shape
from ganboard.gan.costs.layer import LayerCost, layer_costs, macs
from ganboard.gan.models.gan3d import architecture, compact
from ganboard.gan.models.gan3d.architecture import LATENT, SHAPES
from ganboard.gan.models.gan3d.config import Config
from ganboard.gan.models.gan3d.source import SAMPLED

_EVALUATED = 32  # events together, forward alone
GRAPH_BYTES = 100 * 10**6


def data_bytes(config: Config, examples: int) -> int:
    """Bytes of events as read, as joined and as a constant of TensorFlow: some 1,500 cells that are
    not empty in each, a value and a place."""
    return 3 * 6 * 1500 * examples


def evaluation_bytes(config: Config) -> int:
    """Bytes that an evaluation of quality takes, while nothing trains."""
    return _EVALUATED * image_bytes(config)


def examples(config: Config) -> int:
    """How many events the data have, where nobody has counted them."""
    return SAMPLED


def generator(config: Config, on_cpu: bool = True) -> tuple[LayerCost, ...]:
    """The generator, from noise to image; up-sampled maps count in full, as in the published
    counts."""
    geometry, latents = config.geometry, (LATENT[config.geometry],)
    if config.network == "published":
        return layer_costs(latents, architecture.generator(geometry))
    parts = compact.spread(geometry, config.width), compact.energies(geometry)
    return tuple(cost for part in parts for cost in layer_costs(latents, part))


def discriminator(config: Config, on_cpu: bool = True) -> tuple[LayerCost, ...]:
    """The discriminator, from image to both heads."""
    geometry = config.geometry
    if config.network == "published":
        return layer_costs(SHAPES[geometry], architecture.discriminator(geometry))
    cells = SHAPES[geometry][:-1]
    seen = compact.features(geometry, config.width)
    (known,) = output_shape(cells, seen)
    energies = 2 * cells[-1]
    return layer_costs(cells, seen) + layer_costs((known + energies,), compact.opinion())


def step_macs(config: Config) -> int:
    """Multiply-accumulates of a training step for each event: D on real and on generated ones, then
    G twice, each through D; with network=compact all at once.

    A layer's backward pass costs its forward pass twice: for its weights, and for what entered. In
    G's phases D's weights are not asked.
    """
    g, d = macs(generator(config)), macs(discriminator(config))
    train_d = 3 * d - discriminator(config)[0].macs
    train_g = 3 * g - generator(config)[0].macs
    if config.network == "compact":
        return 3 * g + 2 * 3 * d + d  # a second gradient through D, for G
    return (
        2 * (train_d + d * config.recompute)
        + g
        + 2 * (train_g + 2 * d + (g + d) * config.recompute)
    )


def image_bytes(config: Config, *, on_gpu: bool = False) -> int:
    """Bytes per event of a micro-batch: what G and D keep in G's phases, and as much again for the
    largest map on its way."""
    half = 4 if config.precision == "float32" else 2
    layers = (*generator(config, not on_gpu), *discriminator(config))
    return sum(layer.kept(half, config.recompute) for layer in layers) + 3 * 4 * max(
        layer.leaving for layer in layers
    )
