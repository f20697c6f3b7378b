"""SN-ResNet-GAN (Miyato, Kataoka, Koyama and Yoshida 2018, "Spectral normalization for generative
adversarial networks", appendix B, tables 4 and 5).

Residual blocks in both networks, batch norm in G, spectral normalisation of every layer of D and no
other norm there. Meant for loss=hinge, Adam at 0.0002 with beta_1 0 and beta_2 0.9, and d_steps=5.
"""

from __future__ import annotations

from typing import Any, ClassVar

import keras

from ganboard.gan.models._convolutional import ConvolutionalConfig
from ganboard.gan.models._sizes import filters, halvings
from ganboard.gan.settings.picture_spec import picture_spec


class Config(ConvolutionalConfig):
    """The settings of sngan."""

    defaults: ClassVar = {
        "loss": "hinge",
        "d_steps": 5,
        "beta_1": 0.0,
        "beta_2": 0.9,
        "g_learning_rate": 2e-4,
        "d_learning_rate": 2e-4,
    }


MODEL = picture_spec("SN-ResNet-GAN", Config, benchmark={"image_size": 64, "channels": 3})


def generator(config: Config) -> keras.Model:
    """Latents [B, latent_dim] -> pictures [B, H, W, C]."""
    latents = keras.Input((config.latent_dim,))
    levels = halvings(config.image_size)
    side = config.image_size >> levels
    x = keras.layers.Dense(side * side * filters(config.width, levels))(latents)
    x = keras.layers.Reshape((side, side, -1))(x)
    for level in range(levels, 0, -1):
        x = _up(x, filters(config.width, level))
    x = keras.layers.Conv2D(config.channels, 3, padding="same")(_active(x))
    return keras.Model(latents, keras.layers.Activation("tanh", dtype="float32")(x))


def discriminator(config: Config) -> keras.Model:
    """Pictures [B, H, W, C] -> logits [B, 1]."""
    picture = keras.Input((config.image_size, config.image_size, config.channels))
    x: Any = picture
    levels = halvings(config.image_size)
    for level in range(1, levels + 1):
        x = _down(x, filters(config.width, level), first=level == 1)
    x = _block(x, filters(config.width, levels))
    x = keras.ops.sum(keras.layers.ReLU()(x), axis=(1, 2))
    logits = keras.layers.SpectralNormalization(keras.layers.Dense(1, dtype="float32"))(x)
    return keras.Model(picture, logits)


def _up(x: Any, number: int) -> Any:
    """A block whose maps are twice as large."""
    residual = keras.layers.UpSampling2D()(_active(x))
    residual = keras.layers.Conv2D(number, 3, padding="same")(residual)
    residual = keras.layers.Conv2D(number, 3, padding="same")(_active(residual))
    return residual + keras.layers.Conv2D(number, 1)(keras.layers.UpSampling2D()(x))


def _down(x: Any, number: int, *, first: bool) -> Any:
    """A block whose maps are half as large; the first one begins with the picture itself."""
    residual = x if first else keras.layers.ReLU()(x)
    residual = keras.layers.ReLU()(_convolution(number, 3)(residual))
    residual = keras.layers.AveragePooling2D(2)(_convolution(number, 3)(residual))
    # a 1x1 convolution of means is the mean of 1x1 convolutions, at a quarter of the cost
    return residual + _convolution(number, 1)(keras.layers.AveragePooling2D(2)(x))


def _block(x: Any, number: int) -> Any:
    """A block whose maps stay as they are."""
    residual = _convolution(number, 3)(keras.layers.ReLU()(x))
    residual = _convolution(number, 3)(keras.layers.ReLU()(residual))
    return x + residual


def _convolution(number: int, kernel: int) -> Any:
    return keras.layers.SpectralNormalization(keras.layers.Conv2D(number, kernel, padding="same"))


def _active(x: Any) -> Any:
    return keras.layers.ReLU()(keras.layers.BatchNormalization(momentum=0.9, epsilon=2e-5)(x))
