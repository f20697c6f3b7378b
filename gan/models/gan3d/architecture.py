"""The layers of both 3DGANs as their authors published them (seed 002, reference section 2.1). Free
of TensorFlow.

51x51x25 cells with energy and angle (AngleArch3dGAN): 1,365,047 and 87,402 parameters. 25x25x25 at
a fixed angle (EcalEnergyGan): 872,948 and 73,450. In G's order convolution, ReLU, batch norm.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Literal

from ganboard.gan.architecture import (
    Conv,
    Dense,
    Dropout,
    Flatten,
    Layer,
    Leaky,
    Norm,
    Output,
    Pad,
    Pool,
    Relu,
    Reshape,
    Shape,
    dropout_masks,
)

Geometry = Literal["51x51x25", "25x25x25"]
Three = tuple[int, int, int]

LATENT: dict[Geometry, int] = {"51x51x25": 256, "25x25x25": 200}
SHAPES: dict[Geometry, tuple[int, int, int, int]] = {
    "51x51x25": (51, 51, 25, 1),
    "25x25x25": (25, 25, 25, 1),
}
DROPOUT = 0.2


@dataclass(frozen=True, kw_only=True)
class PaddedConv(Conv):
    """Zero padding and the convolution behind it in one (`gan.layers.blocks`)."""

    pads: Shape


@dataclass(frozen=True, kw_only=True)
class UpConv(Conv):
    """Up-sampling, padding and a convolution in one (`gan.models.gan3d.upconv`)."""

    kernel: Three
    factors: Three
    pads: Three = (0, 0, 0)

    def output(self, shape: Shape) -> Shape:
        larger = tuple(n * factor for n, factor in zip(shape, self.factors, strict=False))
        return super().output(Pad("", self.pads).output((*larger, shape[-1])))

    def macs(self, shape: Shape) -> int:
        """Those of the up-sampled map, as the published counts do."""
        return prod(self.output(shape)[:-1]) * self.weights(shape)


@dataclass(frozen=True, kw_only=True)
class Heads(Dense):
    """Dense layers of one unit side by side, each with a number of its own."""


def merged(layers: Sequence[Layer]) -> list[Layer]:
    """The same layers, with every zero padding in one with the convolution behind it."""
    found: list[Layer] = []
    for layer in layers:
        match found[-1:], layer:
            case [Pad(rule="zeros", sides=(_, _, _) as sides)], Conv() if type(layer) is Conv:
                found[-1] = PaddedConv(**vars(layer), pads=sides)
            case _:
                found.append(layer)
    return found


def masks(geometry: Geometry) -> tuple[Shape, ...]:
    """Shapes of the discriminator's dropout masks, per image."""
    return dropout_masks(SHAPES[geometry], discriminator(geometry))


def generator(geometry: Geometry) -> tuple[Layer, ...]:
    """From latents to image."""
    return _angle_generator() if geometry == "51x51x25" else _fixed_generator()


def _angle_generator() -> tuple[Layer, ...]:
    up = UpConv("up_2", 2, 8, kernel=(6, 6, 8), factors=(6, 6, 6), initializer="he_uniform")
    layers: list[Layer] = [
        Dense("dense", 1, 5184),
        Reshape("reshape", (9, 9, 8, 8)),
        up,
        Relu("relu_2"),
        _norm(2),
    ]
    for number, sides, kernel in (
        (3, (2, 2, 1), (4, 4, 6)),
        (4, (2, 2, 1), (4, 4, 6)),
        (5, (2, 2, 1), (4, 4, 6)),
        (6, (1, 1, 0), (3, 3, 5)),
        (7, (1, 1, 0), (3, 3, 3)),
    ):
        conv = Conv(f"conv_{number}", number, 6, kernel=kernel, initializer="he_uniform")
        layers += [Pad(f"pad_{number}", sides), conv, Relu(f"relu_{number}")]
        layers += [_norm(number)] if number < 7 else []
    last = Conv("conv_8", 8, 1, kernel=(2, 2, 2), initializer="glorot_normal")
    return (*layers, last, Output("image", "relu"))


def _fixed_generator() -> tuple[Layer, ...]:
    second = UpConv("up_3", 3, 6, kernel=(6, 5, 8), factors=(2, 2, 2), pads=(2, 2, 0))
    third = UpConv("up_4", 4, 6, kernel=(3, 3, 8), factors=(2, 2, 3), pads=(1, 0, 3))
    return (
        *(Dense("dense", 1, 3136), Reshape("reshape", (7, 7, 8, 8))),
        *(Conv("conv_2", 2, 64, kernel=(6, 6, 8), padding="same"), Leaky("leaky_2"), _norm(2)),
        *(second, Leaky("leaky_3"), _norm(3)),
        *(third, Leaky("leaky_4")),
        *(Conv("conv_5", 5, 1, kernel=(2, 2, 2), bias=False), Output("image", "relu")),
    )


def discriminator(geometry: Geometry) -> tuple[Layer, ...]:
    """From image to both heads."""
    wide = geometry == "51x51x25"
    first, kernel = (16, (5, 6, 6)) if wide else (32, (5, 5, 5))
    pads = ((0, 0, 1), (0, 0, 1), None) if wide else ((2, 2, 2), (2, 2, 2), (1, 1, 1))
    layers: list[Layer] = [
        Conv("conv_1", 1, first, kernel=kernel, padding="same"),
        Leaky("leaky_0"),
        Dropout("dropout_0", DROPOUT),
    ]
    for i, sides in enumerate(pads, 1):
        layers += [Pad(f"pad_{i + 1}", sides)] if sides else []
        layers += [
            Conv(f"conv_{i + 1}", i + 1, 8, kernel=kernel),
            Leaky(f"leaky_{i}"),
            _norm(i),
            Dropout(f"dropout_{i}", DROPOUT),
        ]
    return (*layers, Pool("pool"), Flatten("flatten"), Heads("judgements", 5, 2))


def _norm(number: int) -> Norm:
    return Norm(f"norm_{number}", epsilon=1e-6)
