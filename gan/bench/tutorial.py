"""The DCGAN tutorial of TensorFlow as its readers write it
(tensorflow.org/tutorials/generative/dcgan), with Keras's precision policy.

The yardstick: no trick of `gan` is used here, and none is left out that the tutorial or the guides
of tf.data and mixed precision name.
"""

from __future__ import annotations

import keras
import numpy as np
import tensorflow as tf
from keras import layers

from ganboard.gan.bench.protocol import Take, Task

NOISE = 100


def generator() -> keras.Model:
    return keras.Sequential(
        [
            layers.Input((NOISE,)),
            layers.Dense(7 * 7 * 256, use_bias=False),
            layers.BatchNormalization(),
            layers.LeakyReLU(),
            layers.Reshape((7, 7, 256)),
            layers.Conv2DTranspose(128, 5, strides=1, padding="same", use_bias=False),
            layers.BatchNormalization(),
            layers.LeakyReLU(),
            layers.Conv2DTranspose(64, 5, strides=2, padding="same", use_bias=False),
            layers.BatchNormalization(),
            layers.LeakyReLU(),
            layers.Conv2DTranspose(1, 5, strides=2, padding="same", use_bias=False),
            layers.Activation("tanh", dtype="float32"),
        ]
    )


def discriminator() -> keras.Model:
    return keras.Sequential(
        [
            layers.Input((28, 28, 1)),
            layers.Conv2D(64, 5, strides=2, padding="same"),
            layers.LeakyReLU(),
            layers.Dropout(0.3),
            layers.Conv2D(128, 5, strides=2, padding="same"),
            layers.LeakyReLU(),
            layers.Dropout(0.3),
            layers.Flatten(),
            layers.Dense(1, dtype="float32"),
        ]
    )


def make(task: Task) -> tuple[Take, str]:
    keras.mixed_precision.set_global_policy(task.precision)
    images = (np.load(task.images, allow_pickle=False).astype("float32") - 127.5) / 127.5
    dataset = (
        tf.data.Dataset.from_tensor_slices(images)
        .shuffle(len(images))
        .batch(task.batch, drop_remainder=True)
    )
    batches = iter(dataset.repeat().prefetch(tf.data.AUTOTUNE))
    g, d = generator(), discriminator()
    cross_entropy = keras.losses.BinaryCrossentropy(from_logits=True)
    g_optimizer, d_optimizer = keras.optimizers.Adam(1e-4), keras.optimizers.Adam(1e-4)

    @tf.function  # type: ignore[untyped-decorator]
    def train_step(images: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        noise = tf.random.normal([task.batch, NOISE])
        with tf.GradientTape() as g_tape, tf.GradientTape() as d_tape:
            generated = g(noise, training=True)
            real_output = d(images, training=True)
            fake_output = d(generated, training=True)
            g_loss = cross_entropy(tf.ones_like(fake_output), fake_output)
            d_loss = cross_entropy(tf.ones_like(real_output), real_output) + cross_entropy(
                tf.zeros_like(fake_output), fake_output
            )
        g_gradients = g_tape.gradient(g_loss, g.trainable_variables)
        d_gradients = d_tape.gradient(d_loss, d.trainable_variables)
        g_optimizer.apply_gradients(zip(g_gradients, g.trainable_variables, strict=True))
        d_optimizer.apply_gradients(zip(d_gradients, d.trainable_variables, strict=True))
        return g_loss, d_loss

    def take(count: int) -> tuple[float, float]:
        for _ in range(count):
            losses = train_step(next(batches))
        return float(losses[0]), float(losses[1])

    return take, f"tensorflow {tf.__version__}, keras {keras.__version__}"
