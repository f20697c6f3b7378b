"""DCGAN of the study's Table 1: 28x28x1 images, generator 2,330,944 parameters, discriminator
212,865.

Kernel 5x5, tanh, slope 0.3, dropout 0.3 and no biases in the generator are not printed there: they
come from the tutorial it copies.
"""

from __future__ import annotations

import keras

from ganboard.gan.config import RunConfig
from ganboard.gan.devices import runtime
from ganboard.gan.layers.masked_dropout import MaskedDropout
from ganboard.gan.layers.normalization import BatchNormalization, synchronized
from ganboard.gan.models.dcgan.spectral import SpectralConv2DTranspose
from ganboard.gan.rng import philox

SHAPE = (28, 28, 1)
DROPOUT = 0.3
MASKS = ((14, 14, 64), (7, 7, 128))  # shapes of the discriminator's two dropout masks, per image
_SLOPE = 0.3
_KERNEL = 5


def spectral(config: RunConfig) -> bool:
    """Whether the 7x7 transposed convolution is computed in the frequency domain: on CPU that pays,
    accelerators have their own ways."""
    return config.convolution == "spectral" or (
        config.convolution == "auto" and not runtime.accelerated()
    )


def generator(config: RunConfig) -> keras.Model:
    """Latents [batch, latent_dim] -> images [batch, 28, 28, 1] float32 in [-1, 1]."""
    policy = keras.DTypePolicy(config.precision)

    def up(filters: int, strides: int, layer: int) -> keras.layers.Layer:
        options = {"kernel_initializer": initial(layer), "dtype": policy, "name": f"up_{layer}"}
        if strides == 1 and spectral(config):
            return SpectralConv2DTranspose(filters, _KERNEL, **options)
        return keras.layers.Conv2DTranspose(
            filters, _KERNEL, strides, "same", use_bias=False, **options
        )

    def initial(layer: int) -> keras.Initializer:
        return keras.initializers.GlorotUniform(philox.layer_seed(config.seed, 0, layer))

    def norm(layer: int) -> list[keras.layers.Layer]:
        options = {"synchronized": synchronized(config), "dtype": policy, "name": f"norm_{layer}"}
        return [BatchNormalization(**options)] if config.generator_batch_norm else []

    def leaky(layer: int) -> keras.layers.Layer:
        return keras.layers.LeakyReLU(_SLOPE, dtype=policy, name=f"leaky_{layer}")

    layers = [
        keras.layers.Input((config.latent_dim,)),
        keras.layers.Dense(
            7 * 7 * 256, use_bias=False, kernel_initializer=initial(0), dtype=policy, name="dense"
        ),
        *norm(0),
        leaky(0),
        keras.layers.Reshape((7, 7, 256), dtype=policy, name="reshape"),
        up(128, 1, 1),
        # Table 1 prints this row twice, the tutorial normalises here
        *([up(128, 1, 4)] if config.table1_literal else norm(1)),
        leaky(1),
        up(64, 2, 2),
        *norm(2),
        leaky(2),
        up(1, 2, 3),
        keras.layers.Activation("tanh", dtype="float32", name="tanh"),
    ]
    return keras.Sequential(layers, name="generator")


def discriminator(config: RunConfig) -> keras.Model:
    """(images [batch, 28, 28, 1], two keep masks of shape MASKS or None) -> logits [batch, 1]
    float32."""
    policy = keras.DTypePolicy(config.precision)
    image = keras.Input(SHAPE, name="image")
    masks = [
        keras.Input(shape, dtype="bool", optional=True, name=f"keep_{i}")
        for i, shape in enumerate(MASKS)
    ]
    x = image
    for i, (_, _, filters) in enumerate(MASKS):
        init = keras.initializers.GlorotUniform(philox.layer_seed(config.seed, 1, i))
        x = keras.layers.Conv2D(
            filters, _KERNEL, 2, "same", kernel_initializer=init, dtype=policy, name=f"down_{i}"
        )(x)
        # not right after the input: Radford et al. 2016, section 3
        if config.discriminator_batch_norm and i:
            x = BatchNormalization(
                synchronized=synchronized(config), dtype=policy, name=f"norm_{i}"
            )(x)
        x = keras.layers.LeakyReLU(_SLOPE, dtype=policy, name=f"leaky_{i}")(x)
        x = MaskedDropout(DROPOUT, dtype=policy, name=f"dropout_{i}")([x, masks[i]])
    x = keras.layers.Flatten(dtype=policy, name="flatten")(x)
    init = keras.initializers.GlorotUniform(philox.layer_seed(config.seed, 1, 2))
    logits = keras.layers.Dense(1, kernel_initializer=init, dtype="float32", name="logits")(x)
    return keras.Model([image, *masks], logits, name="discriminator")
