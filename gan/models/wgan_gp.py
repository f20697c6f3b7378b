"""WGAN with gradient penalty (Gulrajani, Ahmed, Arjovsky, Dumoulin and Courville 2017, "Improved
training of Wasserstein GANs").

DCGAN's shape as in its section 5.2, with layer norm in the critic: batch norm would make the
gradient at one picture depend on the others, which the penalty of section 4 excludes. Layer norm is
over all values of a picture, with a scale for each map (group norm of one group). Meant for
loss=wgan_gp with gradient_penalty=10, d_steps=5, and Adam at 0.0001 with beta_1 0 and beta_2 0.9.
"""

from __future__ import annotations

from typing import Any, ClassVar

import keras

from ganboard.gan.models._convolutional import ConvolutionalConfig
from ganboard.gan.models._sizes import KERNEL, filters, halvings
from ganboard.gan.settings.picture_spec import picture_spec


class Config(ConvolutionalConfig):
    """The settings of wgan_gp."""

    defaults: ClassVar = {"loss": "wgan_gp", "d_steps": 5, "beta_1": 0.0, "beta_2": 0.9}


MODEL = picture_spec("WGAN-GP", Config, benchmark={"image_size": 64, "channels": 3})


def generator(config: Config) -> keras.Model:
    """Latents [B, latent_dim] -> pictures [B, H, W, C]."""
    latents = keras.Input((config.latent_dim,))
    levels = halvings(config.image_size)
    side = config.image_size >> levels
    number = filters(config.width, levels)
    x = keras.layers.Dense(side * side * number, use_bias=False, **_he())(latents)
    x = keras.layers.Reshape((side, side, number))(x)
    for level in range(levels - 1, 0, -1):
        x = keras.layers.ReLU()(keras.layers.BatchNormalization(momentum=0.9)(x))
        number = filters(config.width, level)
        x = keras.layers.Conv2DTranspose(number, KERNEL, 2, "same", use_bias=False, **_he())(x)
    x = keras.layers.ReLU()(keras.layers.BatchNormalization(momentum=0.9)(x))
    x = keras.layers.Conv2DTranspose(config.channels, KERNEL, 2, "same")(x)
    return keras.Model(latents, keras.layers.Activation("tanh", dtype="float32")(x))


def discriminator(config: Config) -> keras.Model:
    """Pictures [B, H, W, C] -> the critic's value [B, 1]."""
    picture = keras.Input((config.image_size, config.image_size, config.channels))
    x: Any = picture
    for level in range(1, halvings(config.image_size) + 1):
        x = keras.layers.Conv2D(filters(config.width, level), KERNEL, 2, "same", **_he())(x)
        if level > 1:
            x = keras.layers.GroupNormalization(groups=1)(x)
        x = keras.layers.LeakyReLU(0.2)(x)
    return keras.Model(picture, keras.layers.Dense(1, dtype="float32")(keras.layers.Flatten()(x)))


def _he() -> dict[str, Any]:
    """He et al. 2015, as in the authors' code."""
    return {"kernel_initializer": keras.initializers.HeUniform()}
