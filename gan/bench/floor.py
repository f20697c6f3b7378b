"""The convolutions and products of a training step, and nothing else: no activations, batch norm,
random numbers, losses or updates.

Whoever computes the study's networks with direct convolutions needs at least this time. One
backward pass through the discriminator serves both losses (`gan.modeling.losses.generator_share`),
so that it is counted once.
"""

from __future__ import annotations

from collections.abc import Sequence

import tensorflow as tf

from ganboard.gan.bench.protocol import Take, Task

NOISE = 100
SHAPES = (  # of all weights, by layer: those of a transposed convolution end in (out, in)
    *((NOISE, 7 * 7 * 256), (5, 5, 128, 256), (5, 5, 64, 128), (5, 5, 1, 64)),
    *((5, 5, 1, 64), (5, 5, 64, 128), (7 * 7 * 128, 1)),
)


def products(
    noise: tf.Tensor, images: tf.Tensor, weights: Sequence[tf.Tensor], pulls: Sequence[tf.Tensor]
) -> list[tf.Tensor]:
    """Gradients of all `weights` (as SHAPES) and the logits; `pulls` [batch, 1] twice are those of
    the logits of real and generated images.

    The pulls differ, else the two backward passes would be found equal and taken once.
    """
    dense, up_1, up_2, up_3, down_0, down_1, logits = weights
    batch = noise.shape[0]

    def discriminate(x: tf.Tensor) -> tf.Tensor:
        x = tf.nn.conv2d(tf.nn.conv2d(x, down_0, 2, "SAME"), down_1, 2, "SAME")
        return tf.reshape(x, [batch, -1]) @ logits

    with tf.GradientTape() as tape:
        tape.watch(weights)
        x = tf.reshape(noise @ dense, [batch, 7, 7, 256])
        x = tf.nn.conv2d_transpose(x, up_1, [batch, 7, 7, 128], 1)
        x = tf.nn.conv2d_transpose(x, up_2, [batch, 14, 14, 64], 2)
        x = tf.nn.conv2d_transpose(x, up_3, [batch, 28, 28, 1], 2)
        outcome = [discriminate(images), discriminate(x)]
    return [*tape.gradient(outcome, list(weights), output_gradients=list(pulls)), *outcome]


def make(task: Task) -> tuple[Take, str]:
    dtype = tf.bfloat16 if task.precision == "mixed_bfloat16" else tf.float32

    def numbers(*shape: int, scale: float = 1.0) -> tf.Tensor:
        return tf.cast(tf.random.normal(shape) * scale, dtype)

    noise, images = numbers(task.batch, NOISE), numbers(task.batch, 28, 28, 1)
    weights = [numbers(*shape, scale=0.02) for shape in SHAPES]
    pulls = [numbers(task.batch, 1) for _ in range(2)]
    run = tf.function(products)

    def take(count: int) -> tuple[float, float]:
        for _ in range(count):
            found = run(noise, images, weights, pulls)
        # no losses, but what is there when all is done
        return float(found[-1][0, 0]), float(found[0][0, 0])

    return take, f"tensorflow {tf.__version__}"
