"""`convgan` at 64x64 pixels in 3 colours against the loop of TensorFlow's tutorial with the same
networks: `python -m tests.scale.convgan [float32|mixed_bfloat16] [rounds]`.

Both train in one process and take turns of a few steps each. Times are processor times, which other
work on the machine changes least; the answer is the median of their ratios, with the quartiles.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from ganboard.gan.config import RunConfig
from ganboard.gan.devices import runtime
from ganboard.gan.modeling.adversarial import AdversarialRecipe
from ganboard.gan.models import convgan
from ganboard.gan.quality.evaluator import Evaluator
from ganboard.gan.rng import philox
from ganboard.gan.training.step import Stepper, networks

IMAGES = 2048
STEPS = 4  # of a turn


class Config(RunConfig):
    batch_size: int = 64
    image_size: int = 64
    channels: int = 3
    conditional: bool = False
    classes: int = 0
    width: int = 32
    discriminator_batch_norm: bool = True


def ours(config: Config, images: np.ndarray[Any, Any]) -> Callable[[], float]:
    recipe = AdversarialRecipe(config, convgan, Evaluator)
    nets = networks(config, recipe)
    stepper = Stepper(config, tf.distribute.get_strategy(), nets, images, recipe)
    order = philox.order(0, 1, len(images))

    def take() -> float:
        return float(stepper.run(order, 0, 0, STEPS).g_loss[-1])

    return take


def tutorial(config: Config, images: np.ndarray[Any, Any]) -> Callable[[], float]:
    """tensorflow.org/tutorials/generative/dcgan, with these networks."""
    keras.mixed_precision.set_global_policy(config.precision)
    g, d = convgan.generator(config), convgan.discriminator(config)
    keras.mixed_precision.set_global_policy("float32")
    scaled = (images.astype("float32") - 127.5) / 127.5
    data = tf.data.Dataset.from_tensor_slices(scaled).shuffle(len(images))
    batched = data.batch(config.batch_size, drop_remainder=True)
    batches = iter(batched.repeat().prefetch(tf.data.AUTOTUNE))
    cross_entropy = keras.losses.BinaryCrossentropy(from_logits=True)
    g_adam, d_adam = keras.optimizers.Adam(1e-4), keras.optimizers.Adam(1e-4)

    @tf.function
    def train_step(images: tf.Tensor) -> tf.Tensor:
        noise = tf.random.normal([config.batch_size, config.latent_dim])
        with tf.GradientTape() as g_tape, tf.GradientTape() as d_tape:
            generated = g(noise, training=True)
            real, fake = d(images, training=True), d(generated, training=True)
            g_loss = cross_entropy(tf.ones_like(fake), fake)
            d_loss = cross_entropy(tf.ones_like(real), real)
            d_loss += cross_entropy(tf.zeros_like(fake), fake)
        g_gradients = g_tape.gradient(g_loss, g.trainable_variables)
        d_gradients = d_tape.gradient(d_loss, d.trainable_variables)
        g_adam.apply_gradients(zip(g_gradients, g.trainable_variables, strict=True))
        d_adam.apply_gradients(zip(d_gradients, d.trainable_variables, strict=True))
        return g_loss

    def take() -> float:
        for _ in range(STEPS):
            loss = train_step(next(batches))
        return float(loss)

    return take


def main(precision: str = "float32", rounds: str = "10") -> None:
    images = (np.random.default_rng(0).random((IMAGES, 64, 64, 3)) * 255).astype(np.uint8)
    for norm in (True, False):
        config = Config(precision=precision, discriminator_batch_norm=norm)  # type: ignore[arg-type]
        runtime.prepare(config)
        candidates = [make(config, images) for make in (ours, tutorial)]
        seconds: list[list[float]] = [[], []]
        for turn in range(int(rounds) + 1):
            for candidate, times in zip(candidates, seconds, strict=True):
                began = time.process_time()
                candidate()
                if turn:  # the first one compiles
                    times.append((time.process_time() - began) / STEPS)
        ratios = [theirs / own for own, theirs in zip(*seconds, strict=True)]
        low, middle, high = statistics.quantiles(ratios, n=4)
        print(
            f"{precision}, batch norm in D {'on' if norm else 'off'}:"
            f" ours {min(seconds[0]):.3f}, tutorial {min(seconds[1]):.3f} CPU s a step at best;"
            f" {middle:.2f}x ({low:.2f} to {high:.2f})",
            flush=True,
        )


if __name__ == "__main__":
    main(*sys.argv[1:])
