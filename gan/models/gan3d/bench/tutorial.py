"""The 3DGAN as its authors' programs train it (AngleArch3dGAN and EcalEnergyGan, in Keras): D on
real and on generated showers, then G twice; with networks from Keras's own layers and Keras's
precision policy, each update a compiled graph.

Showers are noise and lie in memory as dense arrays, so it is spared what our trainer does per step:
spreading stored cells over empty ones.
"""

from __future__ import annotations

from typing import Any

import keras
import numpy as np
import tensorflow as tf

from ganboard.gan.architecture import Layer
from ganboard.gan.bench import plain
from ganboard.gan.bench.protocol import Take, Task
from ganboard.gan.models.gan3d import architecture, losses
from ganboard.gan.models.gan3d.config import Config

SHOWERS = 64


def own(layer: Layer) -> list[Any] | None:
    """See `gan.bench.plain.Own`."""
    match layer:
        case architecture.Heads():
            return [keras.layers.Dense(2, dtype="float32")]
        case architecture.UpConv():
            return [
                keras.layers.UpSampling3D(layer.factors),
                keras.layers.ZeroPadding3D(layer.pads),
                keras.layers.Conv3D(layer.filters, layer.kernel),
            ]
        case _:
            return None


def make(task: Task) -> tuple[Take, str]:
    keras.mixed_precision.set_global_policy(task.precision)
    config = Config.model_validate(task.settings)
    geometry, random = config.geometry, np.random.default_rng(0)
    shape, latent = architecture.SHAPES[geometry], architecture.LATENT[geometry]
    images = random.exponential(1e-3, [SHOWERS, *shape]).astype(np.float32)
    labels = random.uniform(0.5, 2, [SHOWERS, 3]).astype(np.float32)
    dataset = tf.data.Dataset.from_tensor_slices((images, labels)).shuffle(SHOWERS)
    batches = iter(dataset.batch(task.batch, True).repeat().prefetch(tf.data.AUTOTUNE))
    noise, image = keras.Input((latent,)), keras.Input(shape)
    g = keras.Model(noise, plain.apply(architecture.generator(geometry), noise, own))
    d = keras.Model(image, plain.apply(architecture.discriminator(geometry), image, own))
    g_optimizer, d_optimizer = (keras.optimizers.RMSprop(1e-3) for _ in range(2))

    def loss(images: tf.Tensor, labels: tf.Tensor, real: float) -> tf.Tensor:
        target = tf.fill([task.batch], real)
        terms = losses.terms(
            d(images, training=True), images, labels, target, losses.POWERS[geometry]
        )
        return tf.reduce_sum(tf.reduce_mean(terms, 0) * losses.WEIGHTS[geometry])

    def latents(labels: tf.Tensor) -> tf.Tensor:
        return tf.random.normal([task.batch, latent]) * labels[:, :1]

    @tf.function  # type: ignore[untyped-decorator]
    def train_d(images: tf.Tensor, labels: tf.Tensor, real: float) -> tf.Tensor:
        with tf.GradientTape() as tape:
            value = loss(images, labels, real)
        gradients = tape.gradient(value, d.trainable_variables)
        d_optimizer.apply_gradients(zip(gradients, d.trainable_variables, strict=True))
        return value

    @tf.function  # type: ignore[untyped-decorator]
    def train_g(labels: tf.Tensor) -> tf.Tensor:
        with tf.GradientTape() as tape:
            value = loss(g(latents(labels), training=True), labels, 1.0)
        gradients = tape.gradient(value, g.trainable_variables)
        g_optimizer.apply_gradients(zip(gradients, g.trainable_variables, strict=True))
        return value

    @tf.function  # type: ignore[untyped-decorator]
    def generate(labels: tf.Tensor) -> tf.Tensor:
        return g(latents(labels), training=False)

    def take(count: int) -> tuple[float, float]:
        for _ in range(count):
            images, labels = next(batches)
            d_losses = train_d(images, labels, 1.0), train_d(generate(labels), labels, 0.0)
            g_losses = train_g(labels), train_g(labels)
        return tuple(float(a + b) / 2 for a, b in (g_losses, d_losses))  # type: ignore[return-value]

    return take, f"tensorflow {tf.__version__}, keras {keras.__version__}"
