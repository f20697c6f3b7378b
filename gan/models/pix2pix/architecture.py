"""The layers of pix2pix's U-Net and 70x70 PatchGAN, as TensorFlow's tutorial has them (Isola et al.
2017, section 6.1; its LeakyReLU has slope 0.2). Free of TensorFlow.

With three channels in and out the U-Net has 54,425,859 parameters at 256x256, 41,838,851 at 128,
29,251,843 at 64, and the PatchGAN 2,770,433. A size of 2^n has n stages down to one pixel and n up.
"""

from __future__ import annotations

from ganboard.gan.architecture import (
    Conv,
    ConvTranspose,
    Dropout,
    Join,
    Layer,
    Leaky,
    Norm,
    Output,
    Pad,
    Relu,
    Shape,
    dropout_masks,
)

DROPOUT = 0.5


def widths(side: int) -> list[int]:
    """Channels of the encoder's stages for squares of this side, a power of two: 64, 128, 256, then
    512 down to one pixel."""
    return [min(64 << stage, 512) for stage in range(side.bit_length() - 1)]


def generator(side: int, outputs: int) -> tuple[Layer, ...]:
    """The U-Net, from picture to picture."""
    filters = widths(side)
    stages = len(filters)
    # three stages with dropout, or fewer where there are not so many of 512 channels before the
    # last of them
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
    last = _conv(2 * stages, outputs, up=True, bias=True)
    return (*layers, last, Output("tanh", "tanh"))


def discriminator() -> tuple[Layer, ...]:
    """The PatchGAN, from both pictures to a logit for each patch."""
    return (
        *(_conv(1, 64), Leaky("leaky_1")),
        *(_conv(2, 128), Norm("norm_2"), Leaky("leaky_2")),
        *(_conv(3, 256), Norm("norm_3"), Leaky("leaky_3")),
        *(Pad("pad_3", (1, 1)), _conv(4, 512, strides=1), Norm("norm_4"), Leaky("leaky_4")),
        *(Pad("pad_4", (1, 1)), _conv(5, 1, strides=1, bias=True), Output("logits", "linear")),
    )


def masks(side: int) -> tuple[Shape, ...]:
    """Shapes of the generator's dropout masks, per picture."""
    return dropout_masks((side, side, 1), generator(side, 1))


def _conv(
    number: int, filters: int, *, up: bool = False, strides: int = 2, bias: bool = False
) -> Layer:
    return (ConvTranspose if up else Conv)(
        f"conv_{number}",
        number,
        filters,
        kernel=(4, 4),
        strides=strides,
        padding="same" if strides == 2 else "valid",
        bias=bias,
        initializer="normal",
    )
