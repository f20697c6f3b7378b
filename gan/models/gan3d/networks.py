"""Generator and discriminator of both 3DGANs, layer by layer as their authors published them (seed
002, reference section 2.1).

51x51x25 cells with energy and angle (AngleArch3dGAN): 1,365,047 and 87,402 parameters. 25x25x25 at
a fixed angle (EcalEnergyGan): 872,948 and 73,450. Up-sampling is folded into the convolution behind
it (`gan.models.gan3d.upconv`); in G's order convolution, ReLU, batch norm.
"""

from __future__ import annotations

from typing import Any, Literal

import keras
import tensorflow as tf

from ganboard.gan.config import RunConfig
from ganboard.gan.layers.factory import Maker
from ganboard.gan.layers.masked_dropout import MaskedDropout
from ganboard.gan.models.gan3d.upconv import Three, UpConv3D

Geometry = Literal["51x51x25", "25x25x25"]

LATENT: dict[Geometry, int] = {"51x51x25": 256, "25x25x25": 200}
SHAPES: dict[Geometry, tuple[int, int, int, int]] = {
    "51x51x25": (51, 51, 25, 1),
    "25x25x25": (25, 25, 25, 1),
}
DROPOUT = 0.2


class RealnessHeads(keras.layers.Layer):  # type: ignore[misc]
    """The heads with weights: features [B, n] -> [B, 2] float32, the logit of "real" and the energy
    in units of 100 GeV."""

    def __init__(self, seeds: tuple[int, int], **kwargs: Any) -> None:
        super().__init__(**kwargs)
        names = ("generation", "auxiliary")
        self.heads = [
            keras.layers.Dense(
                1,
                kernel_initializer=keras.initializers.GlorotUniform(seed),
                dtype="float32",
                name=name,
            )
            for name, seed in zip(names, seeds, strict=True)
        ]

    def build(self, input_shape: tuple[int | None, ...]) -> None:
        for head in self.heads:
            head.build(input_shape)

    def call(self, inputs: Any) -> Any:
        return keras.ops.concatenate([head(inputs) for head in self.heads], -1)


class _Maker(Maker):
    epsilon = 1e-6

    def conv(
        self,
        filters: int,
        kernel: Three,
        padding: str = "valid",
        init: Any = keras.initializers.GlorotUniform,
        **kwargs: Any,
    ) -> Any:
        name = f"conv_{self.count + 1}"
        return keras.layers.Conv3D(
            filters,
            kernel,
            padding=padding,
            kernel_initializer=init(self.seed()),
            dtype=self.policy,
            name=name,
            **kwargs,
        )

    def up(
        self,
        filters: int,
        kernel: Three,
        factors: Three,
        pads: Three = (0, 0, 0),
        init: Any = keras.initializers.GlorotUniform,
    ) -> Any:
        name = f"up_{self.count + 1}"
        return UpConv3D(
            filters,
            kernel,
            factors,
            pads,
            initializer=init(self.seed()),
            dtype=self.policy,
            name=name,
        )

    def dense(self, units: int) -> Any:
        return keras.layers.Dense(
            units,
            kernel_initializer=keras.initializers.GlorotUniform(self.seed()),
            dtype=self.policy,
            name="dense",
        )

    def pad(self, *sides: int) -> Any:
        return keras.layers.ZeroPadding3D(sides, dtype=self.policy, name=f"pad_{self.count + 1}")


def noise(geometry: Geometry) -> int:
    """Random numbers per event."""
    return LATENT[geometry] - (2 if geometry == "51x51x25" else 0)


def latents(geometry: Geometry, drawn: tf.Tensor, labels: tf.Tensor) -> tf.Tensor:
    """What G gets, [n, LATENT]: (energy, angle, noise), or at the fixed angle noise times energy;
    `drawn` [n, noise], `labels` [n, 3]."""
    if geometry == "51x51x25":
        return tf.concat([labels[:, :2], drawn], 1)
    return drawn * labels[:, :1]


def generator(config: RunConfig, geometry: Geometry) -> keras.Model:
    """Latents [B, LATENT] -> images [B, *SHAPES] float32, not below 0: cells to the power of
    `heads.POWER`."""
    make = _Maker(config, 0)
    layers = _angle_generator(make) if geometry == "51x51x25" else _fixed_generator(make)
    last = keras.layers.Activation("relu", dtype="float32", name="image")
    return keras.Sequential(
        [keras.layers.Input((LATENT[geometry],)), *layers, last], name="generator"
    )


def _angle_generator(make: _Maker) -> list[Any]:
    he, normal = keras.initializers.HeUniform, keras.initializers.GlorotNormal
    layers = [
        make.dense(5184),
        keras.layers.Reshape((9, 9, 8, 8), dtype=make.policy, name="reshape"),
    ]
    layers += [make.up(8, (6, 6, 8), (6, 6, 6), init=he), make.relu(), make.norm()]
    for pads, kernel in [((2, 2, 1), (4, 4, 6))] * 3 + [((1, 1, 0), (3, 3, 5))]:
        layers += [make.pad(*pads), make.conv(6, kernel, init=he), make.relu(), make.norm()]
    layers += [make.pad(1, 1, 0), make.conv(6, (3, 3, 3), init=he), make.relu()]
    return [*layers, make.conv(1, (2, 2, 2), init=normal)]


def _fixed_generator(make: _Maker) -> list[Any]:
    layers = [
        make.dense(3136),
        keras.layers.Reshape((7, 7, 8, 8), dtype=make.policy, name="reshape"),
    ]
    layers += [make.conv(64, (6, 6, 8), "same"), make.leaky(), make.norm()]
    layers += [make.up(6, (6, 5, 8), (2, 2, 2), (2, 2, 0)), make.leaky(), make.norm()]
    layers += [make.up(6, (3, 3, 8), (2, 2, 3), (1, 0, 3)), make.leaky()]
    return [*layers, make.conv(1, (2, 2, 2), use_bias=False)]


def discriminator(config: RunConfig, geometry: Geometry) -> keras.Model:
    """(images [B, *SHAPES], four keep masks of `masks` or None) -> [B, 2] float32, as `RealnessHeads`
    has them."""
    make = _Maker(config, 1)
    wide = geometry == "51x51x25"
    first, kernel = (16, (5, 6, 6)) if wide else (32, (5, 5, 5))
    pads = ((0, 0, 1), (0, 0, 1), None) if wide else ((2, 2, 2), (2, 2, 2), (1, 1, 1))
    image = keras.Input(SHAPES[geometry], name="image")
    shapes = masks(geometry)
    keeps = [
        keras.Input(shape, dtype="bool", optional=True, name=f"keep_{i}")
        for i, shape in enumerate(shapes)
    ]

    def drop(x: Any, i: int) -> Any:
        return MaskedDropout(DROPOUT, dtype=make.policy, name=f"dropout_{i}")([x, keeps[i]])

    x = drop(make.leaky()(make.conv(first, kernel, "same")(image)), 0)
    for i, sides in enumerate(pads, 1):
        x = make.pad(*sides)(x) if sides else x
        x = drop(make.norm()(make.leaky()(make.conv(8, kernel)(x))), i)
    x = keras.layers.AveragePooling3D(2, dtype=make.policy, name="pool")(x)
    x = keras.layers.Flatten(dtype=make.policy, name="flatten")(x)
    opinion = RealnessHeads((make.seed(), make.seed()), dtype="float32", name="judgements")(x)
    return keras.Model([image, *keeps], opinion, name="discriminator")


def masks(geometry: Geometry) -> tuple[tuple[int, ...], ...]:
    """Shapes of the discriminator's dropout masks, per image."""
    if geometry == "51x51x25":
        return (51, 51, 25, 16), (47, 46, 22, 8), (43, 41, 19, 8), (39, 36, 14, 8)
    return (25, 25, 25, 32), (25, 25, 25, 8), (25, 25, 25, 8), (23, 23, 23, 8)
