"""The update of a phase: from gradients that are summed over all replicas to moved weights, in
every replica alike."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import keras
import tensorflow as tf

from ganboard.gan.config import RunConfig
from ganboard.gan.modeling.recipe import Phase
from ganboard.gan.training import optimizers
from ganboard.gan.training.networks import Networks
from ganboard.gan.training.optimizers import put
from ganboard.gan.training.step_metrics import StateMetrics, UpdateMetrics


class _Moved(NamedTuple):
    """Of one network; squared L2 norms."""

    tensors: Sequence[tf.Tensor]  # [tensors]: of the gradient of each
    gradient: tf.Tensor
    update: tf.Tensor


def apply_gradients(
    config: RunConfig,
    nets: Networks,
    phase: Phase,
    gradients: Sequence[tf.Tensor],
    rates: tf.Tensor,
) -> tuple[UpdateMetrics, StateMetrics]:
    """Update the networks of `phase` from their `gradients`, D's before G's, with the learning
    rates of G and D in `rates` [2]."""
    unmoved = _Moved([], tf.zeros([]), tf.zeros([]))
    d = g = unmoved
    of_d = len(nets.discriminator.trainable_variables)
    if phase.d:
        d = _move(config, nets.discriminator, nets.d_optimizer, gradients[:of_d], rates[1])
    if phase.g:
        own = gradients[of_d:] if phase.d else gradients
        g = _move(config, nets.generator, nets.g_optimizer, own, rates[0])
    if nets.average is not None and phase.g:
        _average(config, nets.average, nets.generator, nets.g_optimizer)

    norms = tf.concat([part.tensors for part in (d, g) if part is not unmoved], 0)
    overflows, underflows = tf.zeros([]), tf.zeros([])
    if config.precision != "float32":
        overflows = tf.cond(
            tf.reduce_all(tf.math.is_finite(norms)),
            lambda: tf.zeros([]),
            lambda: _count([~tf.math.is_finite(gradient) for gradient in gradients]),
        )
        underflows = _count([tf.equal(gradient, 0) for gradient in gradients])
    bad = _first_not_finite(norms)
    if not phase.d:  # tensors are counted from the discriminator's first
        bad = tf.where(bad < 0, bad, bad + of_d)
    skipped = tf.zeros([])
    if config.precision == "mixed_float16":
        # there gradients overflow now and then, and such steps are skipped
        bad = tf.constant(-1)
        for part in (d, g):
            skipped += tf.cast(~tf.math.is_finite(part.gradient), tf.float32)
    return (
        UpdateMetrics(g.gradient, g.update, d.gradient, d.update, overflows, underflows, skipped),
        StateMetrics(tf.cast(bad, tf.float32), optimizers.loss_scale(nets.g_optimizer)),
    )


def _count(flags: Sequence[tf.Tensor]) -> tf.Tensor:
    return tf.add_n([tf.reduce_sum(tf.cast(flag, tf.float32)) for flag in flags])


def _first_not_finite(norms: tf.Tensor) -> tf.Tensor:
    """The position of the first of `norms` [n] that is not finite, -1 when all are; int32."""
    finite = tf.math.is_finite(norms)
    first = tf.argmax(tf.cast(~finite, tf.int32), output_type=tf.int32)
    return tf.where(tf.reduce_all(finite), -1, first)


def _move(
    config: RunConfig,
    net: keras.Model,
    optimizer: keras.Optimizer,
    gradients: Sequence[tf.Tensor],
    rate: tf.Tensor,
) -> _Moved:
    """Clip and apply the gradients of one network, which are multiplied by its loss scale."""
    weights = net.trainable_variables
    scale = optimizers.loss_scale(optimizer)
    norms = tf.stack([tf.nn.l2_loss(gradient) * 2 for gradient in gradients]) / tf.square(scale)
    square = tf.reduce_sum(norms)
    if config.clip_norm:
        factor = config.clip_norm / tf.maximum(tf.sqrt(square), config.clip_norm)
        gradients = [gradient * factor for gradient in gradients]
    before = [tf.identity(weight.value) for weight in weights]
    with tf.control_dependencies([*before, square]):
        optimizers.set_rate(optimizer, rate)
        optimizer.apply(gradients, weights)
    squares = [
        tf.nn.l2_loss(weight.value - old) * 2 for weight, old in zip(weights, before, strict=True)
    ]
    return _Moved(norms, square, tf.add_n(squares))


def _average(
    config: RunConfig, average: keras.Model, generator: keras.Model, optimizer: keras.Optimizer
) -> None:
    """Move the average towards the generator, at first faster: decay min(ema, (1 + n) / (10 + n))
    after n updates (Tan and Le 2019)."""
    n = tf.cast(optimizer.iterations.value, tf.float32)
    decay = tf.minimum(config.ema, (1 + n) / (10 + n))
    weights = zip(average.trainable_variables, generator.trainable_variables, strict=True)
    for mean, now in weights:
        put(mean, now.value + decay * (mean.value - now.value))
    statistics = zip(
        average.non_trainable_variables, generator.non_trainable_variables, strict=True
    )
    for mean, now in statistics:
        put(mean, now.value)
