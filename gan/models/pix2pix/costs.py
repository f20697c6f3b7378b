"""What pix2pix costs, from its layers. Free of TensorFlow."""

from __future__ import annotations

from pathlib import Path

from ganboard.gan.costs.layer import LayerCost, layer_costs, macs
from ganboard.gan.models.pix2pix import architecture, source
from ganboard.gan.models.pix2pix.config import CHANNELS, Config

_EVALUATED = 16  # pairs together, forward alone
GRAPH_BYTES = 100 * 10**6


def data_bytes(config: Config, examples: int) -> int:
    """Bytes of frames in 16 bits, as read and as a constant of TensorFlow; of files frames of the
    usual grid."""
    street = config.dataset == "vortex_street"
    length, width = (2 * config.side, config.side) if street else (256, 128)
    return 2 * length * width * CHANNELS * 2 * examples


def evaluation_bytes(config: Config) -> int:
    """Bytes that an evaluation of quality takes, while nothing trains."""
    return _EVALUATED * image_bytes(config)


def examples(config: Config) -> int:
    """How many pairs the data have, where nobody has counted them; of files two flows of the usual
    length."""
    return source.count(config, Path()) if config.dataset == "vortex_street" else 1000


def generator(config: Config, on_cpu: bool = True) -> tuple[LayerCost, ...]:
    """The U-Net, from picture to picture."""
    shape = (config.side, config.side, config.inputs)
    return layer_costs(shape, architecture.generator(config, CHANNELS))


def discriminator(config: Config, on_cpu: bool = True) -> tuple[LayerCost, ...]:
    """The PatchGAN, from both pictures to a logit for each patch."""
    shape = (config.side, config.side, config.inputs + CHANNELS)
    return layer_costs(shape, architecture.discriminator(config.width))


def step_macs(config: Config) -> int:
    """Multiply-accumulates of a training step for each pair: G once, D on the real and on the made
    successor, and D's opinion back to G; with pushforward G forward once more.

    A layer's backward pass costs its forward pass twice: for its weights, and for what entered.
    """
    g, d = generator(config), discriminator(config)
    pushed = macs(g) * (config.pushforward > 0)
    return 3 * macs(g) - g[0].macs + pushed + 2 * (3 * macs(d) - d[0].macs) + macs(d)


def image_bytes(config: Config, *, on_gpu: bool = False) -> int:
    """Bytes per pair of a micro-batch: what G keeps, D twice, and as much again for the largest
    maps on their way."""
    half = 4 if config.precision == "float32" else 2
    g, d = generator(config, not on_gpu), discriminator(config)
    kept = [sum(layer.kept(half, recompute=False) for layer in net) for net in (g, d)]
    return kept[0] + 2 * kept[1] + 3 * 4 * max(layer.leaving for layer in (*g, *d))
