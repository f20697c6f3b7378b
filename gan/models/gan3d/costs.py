"""What 3DGAN costs, from the shapes of its layers. Free of TensorFlow."""

from __future__ import annotations

from math import prod

from ganboard.gan.config import RunConfig
from ganboard.gan.costs.layer import Layer, macs
from ganboard.gan.models.gan3d.source import SAMPLED

_JUDGED = 32  # events together, forward alone

Shape = tuple[int, int, int]


def example_bytes(config: RunConfig) -> int:
    """Bytes of an event as read and as a constant of TensorFlow: some 900 cells that are not empty,
    a value and a place each."""
    return 2 * 6 * 900


def judging(config: RunConfig) -> int:
    """Bytes that an evaluation of quality takes, while nothing trains."""
    return _JUDGED * image_bytes(config)


def examples(config: RunConfig) -> int:
    """How many events the data have, where nobody has counted them."""
    return SAMPLED


def generator(config: RunConfig, on_cpu: bool = True) -> tuple[Layer, ...]:
    """The generator of `gan.models.gan3d.networks`, from noise to image; up-sampled maps count in
    full, as the published figures do."""
    if config.geometry == "51x51x25":
        return (
            _dense("dense", 256, 5184),
            _conv("up_2", (9, 9, 8), 8, (6, 6, 8), 8, (49, 49, 41)),
            _conv("conv_3", (53, 53, 43), 8, (4, 4, 6), 6, (50, 50, 38)),
            _conv("conv_4", (54, 54, 40), 6, (4, 4, 6), 6, (51, 51, 35)),
            _conv("conv_5", (55, 55, 37), 6, (4, 4, 6), 6, (52, 52, 32)),
            _conv("conv_6", (54, 54, 32), 6, (3, 3, 5), 6, (52, 52, 28)),
            _conv("conv_7", (54, 54, 28), 6, (3, 3, 3), 6, (52, 52, 26), norm=False),
            _conv("conv_8", (52, 52, 26), 6, (2, 2, 2), 1, (51, 51, 25), norm=False),
        )
    return (
        _dense("dense", 200, 3136),
        _conv("conv_2", (7, 7, 8), 8, (6, 6, 8), 64, (7, 7, 8)),
        _conv("up_3", (7, 7, 8), 64, (6, 5, 8), 6, (13, 14, 9)),
        _conv("up_4", (13, 14, 9), 6, (3, 3, 8), 6, (26, 26, 26), norm=False),
        _conv("conv_5", (26, 26, 26), 6, (2, 2, 2), 1, (25, 25, 25), norm=False, bias=False),
    )


def discriminator(config: RunConfig) -> tuple[Layer, ...]:
    """The discriminator, from image to both heads."""
    if config.geometry == "51x51x25":
        convs = (
            _conv("conv_1", (51, 51, 25), 1, (5, 6, 6), 16, (51, 51, 25), norm=False, masked=True),
            _conv("conv_2", (51, 51, 27), 16, (5, 6, 6), 8, (47, 46, 22), masked=True),
            _conv("conv_3", (47, 46, 24), 8, (5, 6, 6), 8, (43, 41, 19), masked=True),
            _conv("conv_4", (43, 41, 19), 8, (5, 6, 6), 8, (39, 36, 14), masked=True),
        )
        return *convs, _dense("judgements", 19_152, 2)
    wide = (25, 25, 25)
    convs = (
        _conv("conv_1", wide, 1, (5, 5, 5), 32, wide, norm=False, masked=True),
        _conv("conv_2", (29, 29, 29), 32, (5, 5, 5), 8, wide, masked=True),
        _conv("conv_3", (29, 29, 29), 8, (5, 5, 5), 8, wide, masked=True),
        _conv("conv_4", (27, 27, 27), 8, (5, 5, 5), 8, (23, 23, 23), masked=True),
    )
    return *convs, _dense("judgements", 10_648, 2)


def step_macs(config: RunConfig) -> int:
    """Multiply-accumulates of a training step for each event: D on real and on generated ones, then
    G twice, each through D.

    A layer's backward pass costs its forward pass twice: for its weights, and for what entered. In
    G's phases D's weights are not asked.
    """
    g, d = macs(generator(config)), macs(discriminator(config))
    train_d = 3 * d - discriminator(config)[0].macs
    train_g = 3 * g - generator(config)[0].macs
    return (
        2 * (train_d + d * config.recompute)
        + g
        + 2 * (train_g + 2 * d + (g + d) * config.recompute)
    )


def image_bytes(config: RunConfig, *, on_gpu: bool = False) -> int:
    """Bytes per event of a micro-batch: what G and D keep in G's phases, and as much again for the
    largest map on its way."""
    half = 4 if config.precision == "float32" else 2
    layers = (*generator(config, not on_gpu), *discriminator(config))
    return sum(layer.kept(half, config.recompute) for layer in layers) + 3 * 4 * max(
        layer.leaving for layer in layers
    )


def _dense(name: str, entering: int, leaving: int) -> Layer:
    return Layer(
        name, entering * leaving, (entering + 1) * leaving, entering, leaving, activated=False
    )


def _conv(
    name: str, entering: Shape, channels: int, kernel: Shape, filters: int, leaving: Shape, *, norm: bool = True, bias: bool = True,
    masked: bool = False,
) -> Layer:  # fmt: skip
    """`leaving` [x, y, z] maps of `filters` channels, each value of which takes the whole kernel."""
    pairs = prod(kernel) * channels * filters
    values = prod(leaving) * filters
    return Layer(
        name,
        prod(leaving) * pairs,
        pairs + filters * bias + 2 * filters * norm,
        prod(entering) * channels,
        values,
        norm,
        masked=masked,
    )
