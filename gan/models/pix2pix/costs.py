"""What pix2pix costs, from the shapes of its layers. Free of TensorFlow."""

from __future__ import annotations

from itertools import pairwise

from ganboard.gan.config import RunConfig
from ganboard.gan.costs.layer import Layer, macs

_JUDGED = 16  # pairs together, forward alone
_INPUTS, _OUTPUTS = 4, 3
_TAPS = 4 * 4  # of every kernel


def example_bytes(config: RunConfig) -> int:
    """Bytes of a frame in 16 bits, as read and as a constant of TensorFlow; of files a frame of the
    usual grid."""
    length, width = (128, 64) if config.dataset == "street" else (256, 128)
    return 2 * length * width * 3 * 2


def judging(config: RunConfig) -> int:
    """Bytes that an evaluation of quality takes, while nothing trains."""
    return _JUDGED * image_bytes(config)


def examples(config: RunConfig) -> int:
    """How many pairs the data have, where nobody has counted them: two flows of the usual length."""
    return 1000


def widths(side: int) -> list[int]:
    """Channels of the encoder's stages for squares of this side, a power of two: 64, 128, 256, then
    512 down to one pixel."""
    return [min(64 << stage, 512) for stage in range(side.bit_length() - 1)]


def dropped(side: int) -> int:
    """Stages of the decoder with dropout: three, or fewer where there are not so many of 512
    channels before the last of them."""
    return min(3, len(widths(side)) - 4)


def generator(config: RunConfig, on_cpu: bool = True) -> tuple[Layer, ...]:
    """The U-Net of `gan.models.pix2pix.networks`, from picture to picture."""
    return u_net(_side(config), _INPUTS, _OUTPUTS)


def discriminator(config: RunConfig) -> tuple[Layer, ...]:
    """The PatchGAN, from both pictures to a logit for each patch."""
    return patch_gan(_side(config), _INPUTS + _OUTPUTS)


def u_net(side: int, inputs: int, outputs: int) -> tuple[Layer, ...]:
    filters = widths(side)
    down = [
        _conv(f"conv_{i + 1}", side >> i, entering, leaving, (side >> i) // 2, norm=i > 0)
        for i, (entering, leaving) in enumerate(pairwise([inputs, *filters]))
    ]
    up, entering = [], filters[-1]
    for i, across in enumerate(reversed(filters[:-1])):
        up.append(
            _up(f"conv_{len(filters) + i + 1}", 1 << i, entering, across, masked=i < dropped(side))
        )
        entering = 2 * across
    return (
        *down,
        *up,
        _up(f"conv_{2 * len(filters)}", side // 2, entering, outputs, norm=False, bias=True),
    )


def patch_gan(side: int, inputs: int) -> tuple[Layer, ...]:
    # a kernel of 4 takes one pixel from a map that was padded by one to either side
    quarter, last = side // 8, side // 8 - 1
    return (
        _conv("conv_1", side, inputs, 64, side // 2, norm=False),
        _conv("conv_2", side // 2, 64, 128, side // 4),
        _conv("conv_3", side // 4, 128, 256, quarter),
        _conv("conv_4", quarter + 2, 256, 512, last),
        _conv("conv_5", last + 2, 512, 1, last - 1, norm=False, bias=True, activated=False),
    )


def step_macs(config: RunConfig) -> int:
    """Multiply-accumulates of a training step for each pair: G once, D on the real and on the made
    successor, and D's opinion back to G.

    A layer's backward pass costs its forward pass twice: for its weights, and for what entered.
    """
    g, d = generator(config), discriminator(config)
    return 3 * macs(g) - g[0].macs + 2 * (3 * macs(d) - d[0].macs) + macs(d)


def image_bytes(config: RunConfig, *, on_gpu: bool = False) -> int:
    """Bytes per pair of a micro-batch: what G keeps, D twice, and as much again for the largest
    maps on their way."""
    half = 4 if config.precision == "float32" else 2
    g, d = generator(config, not on_gpu), discriminator(config)
    kept = [sum(layer.kept(half, recompute=False) for layer in net) for net in (g, d)]
    return kept[0] + 2 * kept[1] + 3 * 4 * max(layer.leaving for layer in (*g, *d))


def _side(config: RunConfig) -> int:
    return int(config.geometry.partition("x")[0])


def _conv(
    name: str,
    side: int,
    channels: int,
    filters: int,
    leaving: int,
    *,
    norm: bool = True,
    bias: bool = False,
    activated: bool = True,
) -> Layer:
    pairs = _TAPS * channels * filters
    parameters = pairs + filters * (bias + 2 * norm)
    return Layer(
        name,
        leaving**2 * pairs,
        parameters,
        side**2 * channels,
        leaving**2 * filters,
        norm,
        activated,
    )


def _up(
    name: str,
    side: int,
    channels: int,
    filters: int,
    *,
    norm: bool = True,
    bias: bool = False,
    masked: bool = False,
) -> Layer:
    """A transposed convolution of stride 2: each value that enters reaches a whole kernel of values
    that leave."""
    pairs = _TAPS * channels * filters
    parameters, leaving = pairs + filters * (bias + 2 * norm), (2 * side) ** 2 * filters
    return Layer(
        name, side**2 * pairs, parameters, side**2 * channels, leaving, norm, masked=masked
    )
