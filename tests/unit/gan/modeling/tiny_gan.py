"""A model as a person writes it, of a few hundred weights: 8x8 pictures in 3 colours."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any, Literal

import keras
import numpy as np
import tensorflow as tf
from keras import layers

from ganboard.gan.modeling.adversarial import AdversarialRecipe
from ganboard.gan.quality.evaluator import Evaluator
from ganboard.gan.settings.pictures import PictureConfig
from ganboard.gan.training.step import Stepper, networks

IMAGES = (np.random.default_rng(0).random((16, 8, 8, 3)) * 255).astype(np.uint8)
LABELS = np.arange(16) % 3
LABELLED = SimpleNamespace(images=IMAGES, labels=LABELS)


class Config(PictureConfig):
    model: str = "tiny"
    dataset: str = "digits"
    batch_size: int = 4
    latent_dim: int = 6
    image_size: int = 8
    channels: Literal[1, 3] = 3
    conditional: bool = False
    classes: int = 3


def generator(config: Any) -> keras.Model:
    latents = keras.Input((config.latent_dim,))
    inputs, x = [latents], latents
    if config.conditional:
        label = keras.Input((), dtype="int32")
        inputs.append(label)
        x = layers.Concatenate()([x, layers.Embedding(config.classes, 4)(label)])
    x = layers.Reshape((2, 2, 8))(layers.Dense(32)(x))
    x = layers.LeakyReLU()(layers.BatchNormalization()(x))
    x = layers.Conv2DTranspose(6, 4, 2, "same")(x)
    x = x + 0.1 * layers.Conv2D(6, 3, padding="same")(x)
    x = layers.Conv2DTranspose(config.channels, 4, 2, "same", activation="tanh")(x)
    return keras.Model(inputs, x)


def discriminator(config: Any) -> keras.Model:
    return critic(config, [])


def critic(config: Any, middle: Sequence[Any]) -> keras.Model:
    """A discriminator with `middle` between its two convolutions."""
    image = keras.Input((config.image_size, config.image_size, config.channels))
    inputs = [image]
    x = layers.LeakyReLU()(layers.Conv2D(4, 3, 2, "same")(image))
    for layer in middle:
        x = layer(x)
    x = layers.Flatten()(layers.LeakyReLU()(layers.Conv2D(6, 3, 2, "same")(x)))
    if config.conditional:
        label = keras.Input((), dtype="int32")
        inputs.append(label)
        x = layers.Concatenate()([x, layers.Embedding(config.classes, 4)(label)])
    return keras.Model(inputs, layers.Dense(1, dtype="float32")(x))


def with_layers(*middle: Callable[[], Any]) -> SimpleNamespace:
    """A model whose discriminator has what these make between its two convolutions."""
    return SimpleNamespace(
        generator=generator,
        discriminator=lambda config: critic(config, [make() for make in middle]),
    )


PLAIN = SimpleNamespace(generator=generator, discriminator=discriminator)


def recipe(definition: Any = PLAIN, **changes: Any) -> AdversarialRecipe:
    return AdversarialRecipe(Config(**changes), definition, Evaluator)


def stepper(definition: Any = PLAIN, **changes: Any) -> Stepper:
    made = recipe(definition, **changes)
    config = made.config
    data = LABELLED if changes.get("conditional") else IMAGES
    return Stepper(config, tf.distribute.get_strategy(), networks(config, made), data, made)
