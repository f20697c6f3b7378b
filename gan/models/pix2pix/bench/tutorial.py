"""The loop of TensorFlow's pix2pix tutorial (tensorflow.org/tutorials/generative/pix2pix) on
windows of a flow, with the networks from Keras's own layers and Keras's precision policy.

Windows are drawn once and hold noise, so it is spared what our trainer does per step: choosing
windows of the frames.
"""

from __future__ import annotations

import keras
import numpy as np
import tensorflow as tf

from ganboard.gan.bench import plain
from ganboard.gan.bench.protocol import Take, Task
from ganboard.gan.models.pix2pix import architecture
from ganboard.gan.models.pix2pix.config import Config

PAIRS = 256
L1_WEIGHT = 100


def make(task: Task) -> tuple[Take, str]:
    keras.mixed_precision.set_global_policy(task.precision)
    config = Config.model_validate(task.settings)
    side, random = config.side, np.random.default_rng(0)
    before, after = (
        random.uniform(-1, 1, [PAIRS, side, side, channels]).astype(np.float32)
        for channels in (config.inputs, 3)
    )
    dataset = tf.data.Dataset.from_tensor_slices((before, after)).shuffle(PAIRS)
    batches = iter(dataset.batch(task.batch, True).repeat().prefetch(tf.data.AUTOTUNE))
    picture, target = keras.Input((side, side, config.inputs)), keras.Input((side, side, 3))
    g = keras.Model(picture, plain.apply(architecture.generator(config, 3), picture))
    both = keras.layers.Concatenate()([picture, target])
    d = keras.Model([picture, target], plain.apply(architecture.discriminator(config.width), both))
    cross_entropy = keras.losses.BinaryCrossentropy(from_logits=True)
    g_optimizer, d_optimizer = (keras.optimizers.Adam(2e-4, beta_1=0.5) for _ in range(2))

    @tf.function  # type: ignore[untyped-decorator]
    def train_step(before: tf.Tensor, after: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        with tf.GradientTape() as g_tape, tf.GradientTape() as d_tape:
            made = g(before, training=True)
            real = d([before, after], training=True)
            fake = d([before, made], training=True)
            distance = tf.reduce_mean(tf.abs(after - made))
            g_loss = cross_entropy(tf.ones_like(fake), fake) + L1_WEIGHT * distance
            d_loss = cross_entropy(tf.ones_like(real), real) + cross_entropy(
                tf.zeros_like(fake), fake
            )
        g_gradients = g_tape.gradient(g_loss, g.trainable_variables)
        d_gradients = d_tape.gradient(d_loss, d.trainable_variables)
        g_optimizer.apply_gradients(zip(g_gradients, g.trainable_variables, strict=True))
        d_optimizer.apply_gradients(zip(d_gradients, d.trainable_variables, strict=True))
        return g_loss, d_loss

    def take(count: int) -> tuple[float, float]:
        for _ in range(count):
            losses = train_step(*next(batches))
        return float(losses[0]), float(losses[1])

    return take, f"tensorflow {tf.__version__}, keras {keras.__version__}"
