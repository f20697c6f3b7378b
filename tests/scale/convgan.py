"""`convgan` at 64x64 pixels in 3 colours against the loop of TensorFlow's tutorial with the same
networks, and against PyTorch where its Python is named:
`python -m tests.scale.convgan [float32|mixed_bfloat16] [rounds] [python with torch]`.

All take turns of a few steps each, those of TensorFlow in one process. Times are processor times,
which other work on the machine changes least; the answers are the best time of each, and the median
of their ratios to ours with the quartiles.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from ganboard.gan.config import parse
from ganboard.gan.devices import runtime
from ganboard.gan.modeling.adversarial import AdversarialRecipe
from ganboard.gan.models import convgan
from ganboard.gan.quality.evaluator import Evaluator
from ganboard.gan.rng import philox
from ganboard.gan.training.step import Stepper, networks

IMAGES = 2048
STEPS = 4  # of a turn
SETTINGS = {
    "model": "convgan",
    "dataset": "images",
    "images_path": "x",
    "image_size": 64,
    "channels": 3,
    "batch_size": 64,
}
FORMS = ("eager", "channels_last", "compiled")  # of PyTorch

Take = Callable[[], float]  # some steps; returns their seconds of processor time


def ours(config: Any, images: np.ndarray[Any, Any]) -> Take:
    recipe = AdversarialRecipe(config, convgan, Evaluator)
    nets = networks(config, recipe)
    stepper = Stepper(config, tf.distribute.get_strategy(), nets, images, recipe)
    order = philox.order(0, 1, len(images))

    def take() -> float:
        return float(stepper.run(order, 0, 0, STEPS).g_loss[-1])

    return _timed(take)


def tutorial(config: Any, images: np.ndarray[Any, Any]) -> Take:
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

    return _timed(take)


def _timed(take: Callable[[], object]) -> Take:
    def seconds() -> float:
        began = time.process_time()
        take()
        return time.process_time() - began

    return seconds


def pytorch(python: str, form: str, config: Any) -> Take:
    """`tests/scale/convgan_pytorch.py`, which ends with its input."""
    program = Path(__file__).with_name("convgan_pytorch.py")
    norm = str(int(config.discriminator_batch_norm))
    process = subprocess.Popen(
        [python, str(program), form, config.precision, norm],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        bufsize=1,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    say, answer = process.stdin, process.stdout

    def take() -> float:
        say.write(f"{STEPS}\n")
        return float(answer.readline())

    return take


def main(precision: str = "float32", rounds: str = "10", python: str = "") -> None:
    images = (np.random.default_rng(0).random((IMAGES, 64, 64, 3)) * 255).astype(np.uint8)
    for norm in (True, False):
        config = parse({**SETTINGS, "precision": precision, "discriminator_batch_norm": norm})
        runtime.prepare(config)
        candidates = {"ours": ours(config, images), "tutorial": tutorial(config, images)}
        for form in FORMS if python else ():
            candidates[f"PyTorch, {form}"] = pytorch(python, form, config)
        seconds: dict[str, list[float]] = {name: [] for name in candidates}
        for turn in range(int(rounds) + 1):
            for name, take in candidates.items():
                taken = take() / STEPS
                if turn:  # the first one compiles
                    seconds[name].append(taken)
        print(f"{precision}, batch norm in D {'on' if norm else 'off'}, CPU seconds of a step:")
        for name, times in seconds.items():
            ratios = [theirs / own for own, theirs in zip(seconds["ours"], times, strict=True)]
            low, middle, high = statistics.quantiles(ratios, n=4)
            print(f"  {name:24} {min(times):.3f}, {middle:.2f}x ({low:.2f} to {high:.2f})")


if __name__ == "__main__":
    main(*sys.argv[1:])
