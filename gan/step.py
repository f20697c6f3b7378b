"""The training step: both nets updated at once from the same forward pass, as often as one call asks for.

The gradients are a pure function of weights, images, noise and masks (Keras `stateless_call`): it can be compiled by XLA although it runs
in every replica, where variables may not be assigned, and extra discriminator steps leave no trace in the generator's moving statistics.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from gan import losses, streams
from gan.config import RunConfig
from gan.events import Losses
from gan.keys import Purpose
from gan.models import dcgan

_MAX_D_STEPS = 16  # draws of one step; the limit of RunConfig.d_steps
_REAL, _FAKE = 0, len(dcgan.MASKS)  # numbers of the first mask of either call of the discriminator


@dataclass(frozen=True)
class Networks:
    """Both nets and their optimizers."""

    generator: keras.Model
    discriminator: keras.Model
    g_optimizer: keras.Optimizer
    d_optimizer: keras.Optimizer

    def arrays(self) -> dict[str, np.ndarray[Any, Any]]:
        """Everything that a checkpoint must hold, by name."""
        return {name: variable.numpy() for name, variable in self._variables()}

    def assign(self, arrays: Mapping[str, np.ndarray[Any, Any]]) -> None:
        """Take over `arrays`, which must have the names and shapes of `self.arrays()`."""
        for name, variable in self._variables():
            variable.assign(arrays[name])

    def _variables(self) -> Iterator[tuple[str, keras.Variable]]:
        return ((f"{part}/{v.path}", v) for part in self.__dataclass_fields__ for v in getattr(self, part).variables)


def networks(config: RunConfig) -> Networks:
    """Fresh nets and optimizers, a pure function of the configuration; call it inside the strategy's scope."""
    g, d = dcgan.generator(config), dcgan.discriminator(config)
    g_optimizer, d_optimizer = (_optimizer(config, rate) for rate in (config.g_learning_rate, config.d_learning_rate))
    g_optimizer.build(g.trainable_variables)
    d_optimizer.build(d.trainable_variables)
    return Networks(g, d, g_optimizer, d_optimizer)


def _optimizer(config: RunConfig, rate: float) -> keras.Optimizer:
    optimizer: keras.Optimizer
    if config.optimizer == "adam":
        optimizer = keras.optimizers.Adam(rate, beta_1=config.beta_1, name="adam")
    else:
        optimizer = keras.optimizers.SGD(rate, momentum=config.beta_1, name="sgd")
    # bfloat16 has float32's range of exponents and needs no loss scaling; float16 does
    return keras.optimizers.LossScaleOptimizer(optimizer, name="scale") if config.precision == "mixed_float16" else optimizer


class Stepper:
    """Runs training steps of `nets` on `images` ([N, 28, 28, 1] uint8) under `strategy`."""

    def __init__(self, config: RunConfig, strategy: tf.distribute.Strategy, nets: Networks, images: np.ndarray[Any, Any]) -> None:
        self.config, self.strategy, self.nets = config, strategy, nets
        # The whole data set stays in host memory as bytes and a step gathers its rows (50 kB at batch 64): nothing is left for a tf.data
        # pipeline to prefetch, order and position need no state, and every strategy reads it alike.
        with tf.device("/CPU:0"):
            self._images = tf.constant(images)
        self._gradients = tf.function(self._gradients_eager, jit_compile=True) if config.xla else self._gradients_eager

    def run(self, order: np.ndarray[Any, Any], first: int, global_step: int, count: int) -> tuple[Losses, Losses]:
        """Take `count` steps on consecutive batches of `order`, from batch `first`; `global_step` numbers the first of them.

        Returns the losses of G and D over the global batch, [count] float32 each. `count` = 0 only traces and optimises the graph.
        """
        g, d = self._run(*(tf.constant(v) for v in (order, first, np.int64(global_step), count)))
        return g.numpy(), d.numpy()

    @tf.function  # type: ignore[untyped-decorator]
    def _run(self, order: tf.Tensor, first: tf.Tensor, global_step: tf.Tensor, count: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        # count is a tensor and the loop a tf.while, so that changing it does not trace again
        g_losses, d_losses = (tf.TensorArray(tf.float32, count, element_shape=[]) for _ in "gd")
        size = self.config.batch_size
        for i in tf.range(count):
            start = (first + i) * size
            share = self.strategy.run(self._replica_step, (order[start : start + size], global_step + tf.cast(i, tf.int64)))
            g_losses = g_losses.write(i, self.strategy.reduce("SUM", share[0], axis=None))
            d_losses = d_losses.write(i, self.strategy.reduce("SUM", share[1], axis=None))
        return g_losses.stack(), d_losses.stack()

    def _replica_step(self, batch: tf.Tensor, step: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """One update of this replica; `batch` are the example indices [batch_size] of the global batch."""
        config, nets = self.config, self.nets
        rows = config.per_replica_batch
        replica = tf.distribute.get_replica_context().replica_id_in_sync_group
        row = tf.cast(replica, tf.int32) * rows
        with tf.device("/CPU:0"):
            images = tf.ensure_shape(tf.gather(self._images, batch[row : row + rows]), [rows, *dcgan.SHAPE])
        for k in reversed(range(config.d_steps)):  # the last one updates both nets; the ones before see the same images, fresh noise
            draw = step * _MAX_D_STEPS + k
            noise = streams.normal(config.seed, Purpose.NOISE, draw, row, rows, config.latent_dim)
            real_masks, fake_masks = (self._masks(call, draw, row) for call in (_REAL, _FAKE))
            state = [[v.value for v in variables] for net in (nets.generator, nets.discriminator) for variables in _split(net)]
            scales = [o.scale_loss(tf.ones([])) for o in (nets.g_optimizer, nets.d_optimizer)]
            g_loss, d_loss, g_grads, d_grads, g_state, d_state = self._gradients(images, noise, real_masks, fake_masks, state, scales)
            self._apply(nets.discriminator, nets.d_optimizer, d_grads, d_state)
            if k == 0:
                self._apply(nets.generator, nets.g_optimizer, g_grads, g_state)
        return g_loss, d_loss

    def _gradients_eager(
        self,
        images: tf.Tensor,
        noise: tf.Tensor,
        real_masks: Sequence[tf.Tensor],
        fake_masks: Sequence[tf.Tensor],
        state: Sequence[Sequence[tf.Tensor]],
        scales: Sequence[tf.Tensor],
    ) -> tuple[Any, ...]:
        """This replica's share of both losses, their gradients, and both nets' new moving statistics."""
        nets, size = self.nets, self.config.batch_size
        g_weights, g_state, d_weights, d_state = state
        real = tf.cast(images, tf.float32) / 127.5 - 1
        with tf.GradientTape() as g_tape, tf.GradientTape() as d_tape:
            g_tape.watch(g_weights)
            d_tape.watch(d_weights)
            fake, g_state = nets.generator.stateless_call(g_weights, g_state, noise, training=True)
            real_logits, d_state = nets.discriminator.stateless_call(d_weights, d_state, [real, *real_masks], training=True)
            fake_logits, d_state = nets.discriminator.stateless_call(d_weights, d_state, [fake, *fake_masks], training=True)
            g_loss = losses.global_mean(losses.generator(self.config, fake_logits), size)
            d_loss = losses.global_mean(losses.discriminator(real_logits, fake_logits), size)
            g_target, d_target = g_loss * scales[0], d_loss * scales[1]
        g_grads, d_grads = g_tape.gradient(g_target, g_weights), d_tape.gradient(d_target, d_weights)
        return g_loss, d_loss, g_grads, d_grads, g_state, d_state

    def _masks(self, call: int, draw: tf.Tensor, row: tf.Tensor) -> list[tf.Tensor]:
        rows = self.config.per_replica_batch
        flat = [
            streams.keep(self.config.seed, call + i, dcgan.DROPOUT, draw, row, rows, int(np.prod(shape)))
            for i, shape in enumerate(dcgan.MASKS)
        ]
        return [tf.reshape(mask, [rows, *shape]) for mask, shape in zip(flat, dcgan.MASKS, strict=True)]

    def _apply(self, net: keras.Model, optimizer: keras.Optimizer, gradients: list[tf.Tensor], state: list[tf.Tensor]) -> None:
        if self.config.precision == "mixed_float16" and self.config.replicas > 1:
            # LossScaleOptimizer looks for overflow before its sum over the replicas and believes the first one; the mean, which that sum
            # turns back into the total, shows every replica's overflow to all.
            gradients = tf.distribute.get_replica_context().all_reduce("MEAN", gradients)
        optimizer.apply_gradients(zip(gradients, net.trainable_variables, strict=True))
        if state and self.config.replicas > 1 and not dcgan.synchronized(self.config):
            state = tf.distribute.get_replica_context().all_reduce("MEAN", state)
        for variable, value in zip(net.non_trainable_variables, state, strict=True):
            variable.assign(value)


def _split(net: keras.Model) -> tuple[list[keras.Variable], list[keras.Variable]]:
    return net.trainable_variables, net.non_trainable_variables
