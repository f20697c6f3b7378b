"""The layers of the compact 3DGAN: two-dimensional convolutions with a shower's layers as channels
(Rehm et al. 2021, "Reduced precision strategies for deep learning: a high energy physics generative
adversarial network use case" and "Validation of deep convolutional generative adversarial networks
for high energy physics calorimeter simulations"). Free of TensorFlow.

G says the energy of each layer and how it is spread over the cells separately, as CaloFlow does in
two stages (Krause and Shih 2021), so that neither has to follow from the sum of 625 cells. D is
also given the energy of each layer (CaloGAN: Paganini, de Oliveira and Nachman 2018).
"""

from __future__ import annotations

from dataclasses import dataclass

from ganboard.gan.architecture import (
    Conv,
    ConvTranspose,
    Dense,
    Flatten,
    Layer,
    Leaky,
    Norm,
    Reshape,
    Shape,
)
from ganboard.gan.models.gan3d.architecture import SHAPES, Geometry, Heads

# sides of G's maps: each is twice the one before it, or one less
SIDES: dict[Geometry, tuple[int, ...]] = {"25x25x25": (7, 13, 25), "51x51x25": (7, 13, 26, 51)}
UNITS = 128  # of the dense layers
CELL_POWER = 0.5  # of the cells that D sees: single spots and the core are then on one scale


@dataclass(frozen=True)
class Crop(Layer):
    """Leaves the first `side` rows and columns."""

    side: int

    def output(self, shape: Shape) -> Shape:
        return (self.side, self.side, shape[-1])


def spread(geometry: Geometry, width: int) -> tuple[Layer, ...]:
    """G's part from latents to a map [x, y, z]: how each layer's energy is spread."""
    first, *sides = SIDES[geometry]
    filters = width << len(sides) + 1
    layers: list[Layer] = [
        *(Dense("dense", 1, first * first * filters), Reshape("reshape", (first, first, filters))),
        *(_norm(1), Leaky("leaky_1")),
    ]
    for number, side in enumerate(sides, 2):
        filters //= 2
        layers += [
            ConvTranspose(f"up_{number}", number, filters, kernel=(4, 4), strides=2),
            *(Crop(f"crop_{number}", side), _norm(number), Leaky(f"leaky_{number}")),
        ]
    depth = SHAPES[geometry][2]
    last = Conv("maps", len(sides) + 2, depth, kernel=(3, 3), padding="same")
    return (*layers, last)


def energies(geometry: Geometry) -> tuple[Layer, ...]:
    """G's part from latents to a logit for each layer's share of the energy, and the logarithm of
    the sum in tenths."""
    return (
        *(Dense("energies_1", 11, UNITS), Leaky("energies_leaky_1")),
        *(Dense("energies_2", 12, UNITS), Leaky("energies_leaky_2")),
        Dense("energies", 13, SHAPES[geometry][2] + 1, float32=True),
    )


def features(geometry: Geometry, width: int) -> tuple[Layer, ...]:
    """D's part from cells [x, y, z] to features."""
    layers: list[Layer] = []
    for number in range(1, len(SIDES[geometry]) + 1):
        kernel = 5 if number == 1 else 4
        conv = Conv(
            f"conv_{number}",
            number,
            width << number,
            kernel=(kernel, kernel),
            strides=2,
            padding="same",
        )
        layers += [conv, Leaky(f"leaky_{number}")]
    return (*layers, Flatten("flatten"))


def opinion() -> tuple[Layer, ...]:
    """D's part from features and the energies of layers to both heads."""
    return (
        *(Dense("dense", 11, UNITS, float32=True), Leaky("leaky_dense")),
        Heads("judgements", 12, 2),
    )


def _norm(number: int) -> Norm:
    return Norm(f"norm_{number}", epsilon=1e-5)
