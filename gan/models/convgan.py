"""DCGAN for pictures of any size and number of colours (Radford, Metz and Chintala 2016,
"Unsupervised representation learning with deep convolutional generative adversarial networks").

Strided convolutions instead of pooling, batch norm except in G's last and D's first layer, ReLU in
G, LeakyReLU of slope 0.2 in D, and weights from N(0, 0.02), as in its section 3. Kernels are 4x4 as
in the authors' code, so that each output of a stride of 2 sums as many products. The paper has
`width` 128; Adam at 0.0002 with beta_1 0.5.
"""

from __future__ import annotations

from typing import Any, ClassVar

import keras

from ganboard.gan.models._convolutional import ConvolutionalConfig
from ganboard.gan.models._sizes import KERNEL, filters, halvings
from ganboard.gan.settings.declarations import setting
from ganboard.gan.settings.picture_spec import picture_spec


class Config(ConvolutionalConfig):
    """The settings of convgan."""

    defaults: ClassVar = {"beta_1": 0.5, "g_learning_rate": 2e-4, "d_learning_rate": 2e-4}

    # fmt: off
    discriminator_batch_norm: bool = setting(False, "Model",
        "Batch norm in D, as in the paper; without it each logit depends on its own picture alone",
        label="Batch norm in D", speed=True)
    # fmt: on

    @property
    def examples_mix_in_d(self) -> bool:
        return self.discriminator_batch_norm


MODEL = picture_spec("DCGAN of any size", Config, benchmark={"image_size": 64, "channels": 3})


def generator(config: Config) -> keras.Model:
    """Latents [B, latent_dim] -> pictures [B, H, W, C]."""
    latents = keras.Input((config.latent_dim,))
    levels = halvings(config.image_size)
    side = config.image_size >> levels
    x = keras.layers.Dense(side * side * filters(config.width, levels), **_options())(latents)
    x = keras.layers.Reshape((side, side, -1))(x)
    x = _active(x)
    for level in range(levels - 1, 0, -1):
        number = filters(config.width, level)
        x = keras.layers.Conv2DTranspose(number, KERNEL, 2, "same", **_options())(x)
        x = _active(x)
    x = keras.layers.Conv2DTranspose(config.channels, KERNEL, 2, "same", **_options(bias=True))(x)
    return keras.Model(latents, keras.layers.Activation("tanh", dtype="float32")(x))


def discriminator(config: Config) -> keras.Model:
    """Pictures [B, H, W, C] -> logits [B, 1]."""
    picture = keras.Input((config.image_size, config.image_size, config.channels))
    x: Any = picture
    for level in range(1, halvings(config.image_size) + 1):
        norm = level > 1 and config.discriminator_batch_norm
        number = filters(config.width, level)
        x = keras.layers.Conv2D(number, KERNEL, 2, "same", **_options(bias=not norm))(x)
        if norm:
            x = _norm(x)
        x = keras.layers.LeakyReLU(0.2)(x)
    x = keras.layers.Flatten()(x)
    logits = keras.layers.Dense(1, dtype="float32", **_options(bias=True))(x)
    return keras.Model(picture, logits)


def _options(bias: bool = False) -> dict[str, Any]:
    return {"kernel_initializer": keras.initializers.RandomNormal(0, 0.02), "use_bias": bias}


def _norm(x: Any) -> Any:
    return keras.layers.BatchNormalization(momentum=0.9, epsilon=1e-5)(x)


def _active(x: Any) -> Any:
    return keras.layers.ReLU()(_norm(x))
