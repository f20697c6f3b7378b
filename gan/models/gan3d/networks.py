"""The Keras models of the published 3DGANs, whose up-sampling is folded into the convolution behind
it (`gan.models.gan3d.upconv`), and of the compact one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import keras
import tensorflow as tf

from ganboard.gan.architecture import Conv, Layer, Shape
from ganboard.gan.devices import runtime
from ganboard.gan.layers.blocks import BlockedConv3D
from ganboard.gan.layers.factory import Factory, mask_inputs
from ganboard.gan.models.gan3d import architecture, compact
from ganboard.gan.models.gan3d.architecture import LATENT, SHAPES, Heads, PaddedConv, UpConv
from ganboard.gan.models.gan3d.compact_layers import Centred, Crop, Deposit, LayerEnergies, Seen
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

    def keras_layer(self) -> tuple[keras.Model, list[Any]]:
        """The same in Keras's own layers, and its weights."""
        features = keras.Input((self.heads[0].kernel.shape[0],))
        heads = [keras.layers.Dense(1, name=head.name)(features) for head in self.heads]
        joined = keras.layers.Concatenate()(heads)
        return keras.Model(features, joined, name=self.name), self.weights

    def build(self, input_shape: tuple[int | None, ...]) -> None:
        for head in self.heads:
            head.build(input_shape)

    def call(self, inputs: Any) -> Any:
        return keras.ops.concatenate([head(inputs) for head in self.heads], -1)


class _Factory(Factory):
    folded: ClassVar = True

    @property
    def _blocked(self) -> bool:
        return self.folded and not runtime.accelerated()

    def sequence(self, layers: Sequence[Layer]) -> list[Any]:
        return super().sequence(architecture.merged(layers) if self._blocked else layers)

    def apply(self, layers: Sequence[Layer], x: Any, keeps: Sequence[Any] = ()) -> Any:
        return super().apply(architecture.merged(layers) if self._blocked else layers, x, keeps)

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
            case compact.Crop():
                return Crop(layer.side, dtype=self.policy, name=layer.name)
            case Conv() if len(layer.kernel) == 3 and self._blocked:
                return BlockedConv3D(
                    layer.filters,
                    layer.kernel,
                    layer.strides,
                    layer.padding,
                    layer.pads if isinstance(layer, PaddedConv) else (0, 0, 0),
                    use_bias=layer.bias,
                    kernel_initializer=self.initializer(layer),
                    dtype=self.policy,
                    name=layer.name,
                )
            case Heads():
                seeds = self.seed(layer.number), self.seed(layer.number + 1)
                return RealnessHeads(seeds, dtype="float32", name=layer.name)
            case _:
                return super().make(layer)


def unfold() -> None:
    """Let 3DGANs of this process up-sample and convolve one after the other, and convolve as Keras
    does."""
    _Factory.folded = False


def noise(config: Config) -> int:
    """Random numbers per event."""
    return LATENT[config.geometry] - (2 if _given_particle(config) else 0)


def masks(config: Config) -> tuple[Shape, ...]:
    """Shapes of the discriminator's dropout masks, per image."""
    return architecture.masks(config.geometry) if config.network == "published" else ()


def latents(config: Config, drawn: tf.Tensor, labels: tf.Tensor) -> tf.Tensor:
    """What G gets, [n, LATENT]: (energy, angle, noise), or in the published network of the fixed
    angle noise times energy; `drawn` [n, noise], `labels` [n, 3]."""
    if _given_particle(config):
        return tf.concat([labels[:, :2], drawn], 1)
    return drawn * labels[:, :1]


def generator(config: Config) -> keras.Model:
    """Latents [B, LATENT] -> images [B, *SHAPES] float32, not below 0: cells to the power of
    `losses.POWERS`."""
    geometry, factory = config.geometry, _Factory(config, 0)
    latents = keras.layers.Input((LATENT[geometry],))
    if config.network == "published":
        layers = factory.sequence(architecture.generator(geometry))
        return keras.Sequential([latents, *layers], name="generator")
    centred = Centred(dtype="float32")(latents)
    maps = factory.apply(compact.spread(geometry, config.width), centred)
    energies = factory.apply(compact.energies(geometry), centred)
    image = Deposit(geometry, dtype="float32")([maps, energies, latents])
    return keras.Model(latents, image, name="generator")


def discriminator(config: Config) -> keras.Model:
    """(images [B, *SHAPES], keep masks of `masks` or None) -> [B, 2] float32, as `RealnessHeads`
    has them."""
    geometry, factory = config.geometry, _Factory(config, 1)
    image = keras.Input(SHAPES[geometry], name="image")
    keeps = mask_inputs(masks(config))
    if config.network == "published":
        opinion = factory.apply(architecture.discriminator(geometry), image, keeps)
    else:
        cells = Seen(geometry, dtype="float32")(image)
        energies = LayerEnergies(geometry, dtype="float32")(image)
        features = factory.apply(compact.features(geometry, config.width), cells)
        known = keras.layers.Concatenate(dtype="float32")([features, energies])
        opinion = factory.apply(compact.opinion(), known)
    return keras.Model([image, *keeps], opinion, name="discriminator")


def _given_particle(config: Config) -> bool:
    """Whether energy and angle are the first of the latents."""
    return config.network == "compact" or config.geometry == "51x51x25"
