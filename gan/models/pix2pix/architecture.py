"""The layers of pix2pix's U-Net and 70x70 PatchGAN, as TensorFlow's tutorial has them (Isola et al.
2017, section 6.1; its LeakyReLU has slope 0.2). Free of TensorFlow.

With three channels in and out and a width of 64 the U-Net has 54,425,859 parameters at 256x256,
41,838,851 at 128, 29,251,843 at 64, and the PatchGAN 2,770,433. A size of 2^n has n stages down to
one pixel and n up.
"""

from __future__ import annotations

from dataclasses import replace

from ganboard.gan.architecture import (
    Conv,
    ConvTranspose,
    Crop,
    Dropout,
    Join,
    Layer,
    Leaky,
    Norm,
    Output,
    Pad,
    Relu,
    Shape,
    Weighted,
    dropout_masks,
)
from ganboard.gan.models.pix2pix.config import Config

DROPOUT = 0.5
SIZES = 3  # of the maps in the compact U-Net


def widths(side: int, width: int) -> list[int]:
    """Channels of the encoder's stages for squares of this side, a power of two: `width`, twice
    and four times as many, then 8 times down to one pixel."""
    return [min(width << stage, 8 * width) for stage in range(side.bit_length() - 1)]


def generator(config: Config, outputs: int) -> tuple[Layer, ...]:
    """The U-Net, from picture to picture; with predict=change to a difference of any size."""
    layers = _compact if config.network == "compact" else _published
    last = "tanh" if config.predict == "frame" else "linear"
    return (*layers(config, outputs), Output(last, last))


def _published(config: Config, outputs: int) -> list[Layer]:
    filters = widths(config.side, config.width)
    stages = len(filters)
    # three stages with dropout, or fewer where there are not so many of the widest before the last
    # of them
    dropped = min(3, stages - 4)
    layers: list[Layer] = []
    for number, width in enumerate(filters, 1):
        layers += [
            _conv(number, width),
            *([Norm(f"norm_{number}")] if number > 1 else []),
            Leaky(f"leaky_{number}"),
        ]
    for stage in range(1, stages):
        number, across = stages + stage, stages - stage
        width = filters[across - 1]
        layers += [_conv(number, width, up=True), Norm(f"norm_{number}")]
        layers += [Dropout(f"dropout_{number}", DROPOUT)] if stage <= dropped else []
        layers += [Relu(f"relu_{number}"), Join(f"join_{number}", f"leaky_{across}", width)]
    return [*layers, _conv(2 * stages, outputs, up=True, bias=True)]


def _compact(config: Config, outputs: int) -> list[Layer]:
    """Two convolutions at each size on the way down, one after each join on the way up. Without
    batch norm a prediction does not depend on what else is predicted, nor on how often."""
    layers: list[Layer] = []
    across: list[tuple[str, int]] = []
    number = 0

    def add(filters: int, *, resize: bool = False, up: bool = False) -> str:
        nonlocal number
        number += 1
        conv = _conv(
            number, filters, up=up, bias=True, kernel=4 if resize else 3, initializer="he_uniform"
        )
        layers.extend([*_padded(config, conv), Leaky(f"leaky_{number}")])
        return f"leaky_{number}"

    for level in range(SIZES):
        add(config.width << level, resize=level > 0)
        across.append((add(config.width << level), config.width << level))
    for name, filters in reversed(across[:-1]):
        add(filters, resize=True, up=True)
        layers.append(Join(f"join_{number}", name, filters))
        add(filters)
    return [*layers, *_padded(config, _conv(number + 1, outputs, bias=True, kernel=3))]


def _padded(config: Config, conv: Weighted) -> list[Layer]:
    """A convolution that sees one cell beyond the edges by the configuration's rule."""
    if config.padding == "zeros":
        return [conv]
    pad = Pad(f"pad_{conv.number}", (1, 1), config.padding)
    if isinstance(conv, ConvTranspose):  # its outputs beside the added cells are none of the map's
        return [pad, conv, Crop(f"crop_{conv.number}", (2, 2))]
    return [pad, replace(conv, padding="valid")]


def discriminator(width: int) -> tuple[Layer, ...]:
    """The PatchGAN, from both pictures to a logit for each patch."""
    return (
        *(_conv(1, width), Leaky("leaky_1")),
        *(_conv(2, 2 * width), Norm("norm_2"), Leaky("leaky_2")),
        *(_conv(3, 4 * width), Norm("norm_3"), Leaky("leaky_3")),
        *(Pad("pad_3", (1, 1)), _conv(4, 8 * width, strides=1, padding="valid"), Norm("norm_4")),
        *(Leaky("leaky_4"), Pad("pad_4", (1, 1))),
        *(_conv(5, 1, strides=1, padding="valid", bias=True), Output("logits", "linear")),
    )


def masks(config: Config) -> tuple[Shape, ...]:
    """Shapes of the generator's dropout masks, per picture."""
    side = config.side
    return dropout_masks((side, side, 1), generator(config, 1))


def _conv(
    number: int,
    filters: int,
    *,
    up: bool = False,
    strides: int | None = None,
    padding: str = "same",
    bias: bool = False,
    kernel: int = 4,
    initializer: str = "normal",
) -> Weighted:
    """Kernels of 4 halve or double a map where nothing else is said, those of 3 keep its size."""
    return (ConvTranspose if up else Conv)(
        f"conv_{number}",
        number,
        filters,
        kernel=(kernel, kernel),
        strides=strides or (2 if kernel == 4 else 1),
        padding=padding,
        bias=bias,
        initializer=initializer,
    )
