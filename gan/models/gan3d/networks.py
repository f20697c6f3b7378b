"""The Keras models of both 3DGANs. Up-sampling is folded into the convolution behind it
(`gan.models.gan3d.upconv`)."""

from __future__ import annotations

from typing import Any, ClassVar

import keras
import tensorflow as tf

from ganboard.gan.architecture import Layer
from ganboard.gan.layers.factory import Factory, mask_inputs
from ganboard.gan.models.gan3d import architecture
from ganboard.gan.models.gan3d.architecture import LATENT, SHAPES, Geometry, Heads, UpConv
from ganboard.gan.models.gan3d.config import Config
from ganboard.gan.models.gan3d.upconv import UpConv3D


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


class _Factory(Factory):
    folded: ClassVar = True

    def make(self, layer: Layer) -> Any:
        match layer:
            case UpConv():
                return UpConv3D(
                    layer.filters,
                    layer.kernel,
                    layer.factors,
                    layer.pads,
                    folded=self.folded,
                    initializer=self.initializer(layer),
                    dtype=self.policy,
                    name=layer.name,
                )
            case Heads():
                seeds = self.seed(layer.number), self.seed(layer.number + 1)
                return RealnessHeads(seeds, dtype="float32", name=layer.name)
            case _:
                return super().make(layer)


def unfold() -> None:
    """Let 3DGANs of this process up-sample and convolve one after the other."""
    _Factory.folded = False


def latents(geometry: Geometry, drawn: tf.Tensor, labels: tf.Tensor) -> tf.Tensor:
    """What G gets, [n, LATENT]: (energy, angle, noise), or at the fixed angle noise times energy;
    `drawn` [n, noise], `labels` [n, 3]."""
    if geometry == "51x51x25":
        return tf.concat([labels[:, :2], drawn], 1)
    return drawn * labels[:, :1]


def generator(config: Config, geometry: Geometry) -> keras.Model:
    """Latents [B, LATENT] -> images [B, *SHAPES] float32, not below 0: cells to the power of
    `heads.POWER`."""
    layers = _Factory(config, 0).sequence(architecture.generator(geometry))
    latents = keras.layers.Input((LATENT[geometry],))
    return keras.Sequential([latents, *layers], name="generator")


def discriminator(config: Config, geometry: Geometry) -> keras.Model:
    """(images [B, *SHAPES], four keep masks of `masks` or None) -> [B, 2] float32, as
    `RealnessHeads` has them."""
    image = keras.Input(SHAPES[geometry], name="image")
    keeps = mask_inputs(architecture.masks(geometry))
    opinion = _Factory(config, 1).apply(architecture.discriminator(geometry), image, keeps)
    return keras.Model([image, *keeps], opinion, name="discriminator")
