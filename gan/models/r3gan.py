"""R3GAN (Huang, Gokaslan, Kuleshov and Tompkin 2024, "The GAN is dead; long live the GAN! A modern
GAN baseline"), as far as plain Keras layers go.

No tricks: the relativistic loss of pairs with both zero-centred penalties, and residual blocks of
1x1, grouped 3x3 and 1x1 convolutions without any normalisation (its section 3). Blocks begin as the
identity: their last convolution is zero and the others are scaled down with the number of blocks L,
by L^(-1/4) (Zhang, Dauphin and Ma 2019, "Fixup initialization"). Grouped convolutions have 16
values in a group, twice the block's filters in all. G's first maps come from a dense layer instead
of a learned basis, and maps are resampled by bilinear interpolation and by means of 2x2. Meant for
loss=relativistic, r1 and r2 of 1 (small pictures) to 150 (256 pixels), ema=0.999 and Adam at 0.0002
with beta_1 0 and beta_2 0.9.
"""

from __future__ import annotations

import math
from typing import Any, ClassVar

import keras

from ganboard.gan.models._convolutional import ConvolutionalConfig
from ganboard.gan.models._sizes import filters, halvings
from ganboard.gan.settings.picture_spec import picture_spec

BLOCKS = 1  # of each size; the paper has 2
SLOPE = 0.2
GROUP = 16  # values in a group
EXPANSION = 2
GAIN = math.sqrt(2 / (1 + SLOPE**2))  # keeps the variance through LeakyReLU


class Config(ConvolutionalConfig):
    """The settings of r3gan."""

    defaults: ClassVar = {
        "loss": "relativistic",
        "r1": 1.0,
        "r2": 1.0,
        "ema": 0.999,
        "beta_1": 0.0,
        "beta_2": 0.9,
        "g_learning_rate": 2e-4,
        "d_learning_rate": 2e-4,
    }


MODEL = picture_spec("R3GAN", Config, benchmark={"image_size": 64, "channels": 3})


def generator(config: Config) -> keras.Model:
    """Latents [B, latent_dim] -> pictures [B, H, W, C]."""
    latents = keras.Input((config.latent_dim,))
    levels = halvings(config.image_size)
    side = config.image_size >> levels
    number = filters(config.width, levels + 1)
    x = keras.layers.Dense(side * side * number, use_bias=False, **_scaled(1))(latents)
    x = _blocks(keras.layers.Reshape((side, side, number))(x), levels)
    for level in range(levels, 0, -1):
        x = _sized(x, filters(config.width, level))
        x = keras.layers.UpSampling2D(interpolation="bilinear")(x)
        x = _blocks(x, levels)
    x = keras.layers.Conv2D(config.channels, 1, dtype="float32", **_scaled(1))(x)
    return keras.Model(latents, x)


def discriminator(config: Config) -> keras.Model:
    """Pictures [B, H, W, C] -> logits [B, 1]."""
    picture = keras.Input((config.image_size, config.image_size, config.channels))
    levels = halvings(config.image_size)
    x = keras.layers.Conv2D(filters(config.width, 1), 1, **_scaled(1))(picture)
    for level in range(1, levels + 1):
        x = keras.layers.AveragePooling2D(2)(_blocks(x, levels))
        x = _sized(x, filters(config.width, level + 1))
    x = _blocks(x, levels)
    x = keras.layers.DepthwiseConv2D(x.shape[1], use_bias=False)(x)
    x = keras.layers.Flatten()(x)
    return keras.Model(picture, keras.layers.Dense(1, dtype="float32", **_scaled(1))(x))


def _blocks(x: Any, levels: int) -> Any:
    """Residual blocks of as many filters as `x` has."""
    number = x.shape[-1]
    inner = EXPANSION * number
    gain = GAIN * (BLOCKS * (levels + 1)) ** -0.25
    for _ in range(BLOCKS):
        y = keras.layers.Conv2D(inner, 1, **_scaled(gain))(x)
        y = keras.layers.LeakyReLU(SLOPE)(y)
        groups = max(1, inner // GROUP)
        y = keras.layers.Conv2D(inner, 3, padding="same", groups=groups, **_scaled(gain))(y)
        y = keras.layers.LeakyReLU(SLOPE)(y)
        x = x + keras.layers.Conv2D(number, 1, use_bias=False, kernel_initializer="zeros")(y)
    return x


def _sized(x: Any, number: int) -> Any:
    """A 1x1 convolution where the number of filters changes."""
    if x.shape[-1] == number:
        return x
    return keras.layers.Conv2D(number, 1, use_bias=False, **_scaled(1))(x)


def _scaled(gain: float) -> dict[str, Any]:
    """Normal weights that multiply the standard deviation by `gain`."""
    normal = keras.initializers.VarianceScaling(gain**2, "fan_in", "untruncated_normal")
    return {"kernel_initializer": normal}
