"""The Keras models of DCGAN: generator 2,330,944 parameters, discriminator 212,865."""

from __future__ import annotations

from typing import Any

import keras

from ganboard.gan.architecture import Layer
from ganboard.gan.devices import runtime
from ganboard.gan.layers.factory import Factory, mask_inputs
from ganboard.gan.models.dcgan import architecture
from ganboard.gan.models.dcgan.architecture import MASKS, SHAPE, SpectralConvTranspose
from ganboard.gan.models.dcgan.config import Config
from ganboard.gan.models.dcgan.spectral import SpectralConv2DTranspose


class _Factory(Factory):
    def make(self, layer: Layer) -> Any:
        if not isinstance(layer, SpectralConvTranspose):
            return super().make(layer)
        return SpectralConv2DTranspose(
            layer.filters,
            layer.kernel[0],
            kernel_initializer=self.initializer(layer),
            dtype=self.policy,
            name=layer.name,
        )


def spectral(config: Config) -> bool:
    """Whether the 7x7 transposed convolution is computed in the frequency domain: on CPU that pays,
    accelerators have their own ways."""
    return architecture.spectral(config, on_cpu=not runtime.accelerated())


def generator(config: Config) -> keras.Model:
    """Latents [batch, latent_dim] -> images [batch, 28, 28, 1] float32 in [-1, 1]."""
    layers = architecture.generator(config, spectral=spectral(config))
    latents = keras.layers.Input((config.latent_dim,))
    return keras.Sequential([latents, *_Factory(config, 0).sequence(layers)], name="generator")


def discriminator(config: Config) -> keras.Model:
    """(images [batch, 28, 28, 1], two keep masks of shape MASKS or None) -> logits [batch, 1]
    float32."""
    layers = architecture.discriminator(norm=config.discriminator_batch_norm)
    image = keras.Input(SHAPE, name="image")
    keeps = mask_inputs(MASKS)
    logits = Factory(config, 1).apply(layers, image, keeps)
    return keras.Model([image, *keeps], logits, name="discriminator")
