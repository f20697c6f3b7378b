"""Conditional DCGAN: the networks of `convgan`, which are also given a class (Mirza and Osindero
2014, "Conditional generative adversarial nets"; Radford et al. 2016).

In G an embedding of the class joins the latents, in D another is one more map of the picture. D has
no batch norm, so that each logit says something about its own picture and class alone.
"""

from __future__ import annotations

from typing import Any, ClassVar

import keras

from ganboard.gan.models._convolutional import ConvolutionalConfig
from ganboard.gan.models._sizes import KERNEL, filters, halvings
from ganboard.gan.settings.picture_spec import picture_spec
from ganboard.gan.settings.problems import problem

EMBEDDED = 32  # values of a class in G


class Config(ConvolutionalConfig):
    """The settings of cdcgan."""

    defaults: ClassVar = {
        "conditional": True,
        "beta_1": 0.5,
        "g_learning_rate": 2e-4,
        "d_learning_rate": 2e-4,
    }

    def _check_own(self) -> None:
        super()._check_own()
        if not self.conditional:
            raise problem(
                "model=cdcgan is about labels: set conditional to true, or use model=convgan."
            )


MODEL = picture_spec("Conditional DCGAN", Config, benchmark={"image_size": 64, "channels": 3})


def generator(config: Config) -> keras.Model:
    """(Latents [B, latent_dim], classes [B]) -> pictures [B, H, W, C]."""
    latents = keras.Input((config.latent_dim,))
    label = keras.Input((), dtype="int32")
    embedded = keras.layers.Embedding(config.classes, EMBEDDED)(label)
    levels = halvings(config.image_size)
    side = config.image_size >> levels
    x = keras.layers.Concatenate()([latents, embedded])
    x = keras.layers.Dense(side * side * filters(config.width, levels), **_options())(x)
    x = keras.layers.Reshape((side, side, -1))(x)
    x = _active(x)
    for level in range(levels - 1, 0, -1):
        number = filters(config.width, level)
        x = keras.layers.Conv2DTranspose(number, KERNEL, 2, "same", **_options())(x)
        x = _active(x)
    x = keras.layers.Conv2DTranspose(config.channels, KERNEL, 2, "same", **_options())(x)
    return keras.Model([latents, label], keras.layers.Activation("tanh", dtype="float32")(x))


def discriminator(config: Config) -> keras.Model:
    """(Pictures [B, H, W, C], classes [B]) -> logits [B, 1]."""
    size = config.image_size
    picture = keras.Input((size, size, config.channels))
    label = keras.Input((), dtype="int32")
    embedded = keras.layers.Embedding(config.classes, size * size)(label)
    x = keras.layers.Concatenate()([picture, keras.layers.Reshape((size, size, 1))(embedded)])
    for level in range(1, halvings(size) + 1):
        number = filters(config.width, level)
        x = keras.layers.Conv2D(number, KERNEL, 2, "same", **_options())(x)
        x = keras.layers.LeakyReLU(0.2)(x)
    logits = keras.layers.Dense(1, dtype="float32")(keras.layers.Flatten()(x))
    return keras.Model([picture, label], logits)


def _options() -> dict[str, Any]:
    return {"kernel_initializer": keras.initializers.RandomNormal(0, 0.02)}


def _active(x: Any) -> Any:
    return keras.layers.ReLU()(keras.layers.BatchNormalization(momentum=0.9, epsilon=1e-5)(x))
