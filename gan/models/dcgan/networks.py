"""The Keras models of DCGAN: generator 2,330,944 parameters, discriminator 212,865."""

from __future__ import annotations

import keras

from ganboard.gan.devices import runtime
from ganboard.gan.layers.factory import Factory, mask_inputs
from ganboard.gan.models.dcgan import architecture
from ganboard.gan.models.dcgan.architecture import MASKS, SHAPE
from ganboard.gan.models.dcgan.config import Config


def generator(config: Config) -> keras.Model:
    """Latents [batch, latent_dim] -> images [batch, 28, 28, 1] float32 in [-1, 1]."""
    layers = architecture.generator(config, on_cpu=not runtime.accelerated())
    latents = keras.layers.Input((config.latent_dim,))
    return keras.Sequential([latents, *Factory(config, 0).sequence(layers)], name="generator")


def discriminator(config: Config) -> keras.Model:
    """(images [batch, 28, 28, 1], two keep masks of shape MASKS or None) -> logits [batch, 1]
    float32."""
    layers = architecture.discriminator(config, on_cpu=not runtime.accelerated())
    image = keras.Input(SHAPE, name="image")
    keeps = mask_inputs(MASKS)
    logits = Factory(config, 1).apply(layers, image, keeps)
    return keras.Model([image, *keeps], logits, name="discriminator")
