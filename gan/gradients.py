"""Both losses and their gradients on one micro-batch: a pure function of weights, images and draws.

Being pure it can be compiled by XLA although it runs in every replica, where variables may not be assigned, and extra discriminator steps
leave no trace in the generator's moving statistics.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Any, NamedTuple

import keras
import tensorflow as tf

from gan import losses
from gan.config import RunConfig
from gan.models.dcgan import KeyedDropout

Tensors = Sequence[tf.Tensor]


class State(NamedTuple):
    """Weights and moving statistics of both nets."""

    g_weights: Tensors
    g_statistics: Tensors
    d_weights: Tensors
    d_statistics: Tensors


class Draws(NamedTuple):
    """What a micro-batch is made of."""

    images: tf.Tensor  # [rows, 28, 28, 1] uint8
    noise: tf.Tensor  # [rows, latent_dim]
    real_masks: Tensors
    fake_masks: Tensors
    mix: tf.Tensor  # [rows, 1, 1, 1] in [0, 1): where between a real and a generated image the penalty of wgan_gp is taken


class Shares(NamedTuple):
    """This micro-batch's share of every mean over the global batch; shares are summed over micro-batches and replicas."""

    figures: tf.Tensor  # [4]: loss of G, loss of D, D's mean opinion of real and of generated images
    d_gradients: Tensors
    g_gradients: Tensors  # empty when G is not trained
    statistics: tuple[Tensors, Tensors]  # new moving statistics of G and D


FIGURES = ("g_loss", "d_loss", "d_real", "d_fake")


def shares(
    config: RunConfig, generator: keras.Model, discriminator: keras.Model, state: State, draws: Draws, scales: Tensors, train_g: bool
) -> Shares:
    """`scales` are the loss scales of G and D: the gradients are multiplied by them, the figures are not."""
    recompute = config.recompute

    def judge(images: tf.Tensor, statistics: Tensors, masks: Tensors) -> tuple[tf.Tensor, Tensors]:
        return forward(discriminator, state.d_weights, statistics, images, masks, recompute=recompute)

    def mean(values: tf.Tensor) -> tf.Tensor:
        return losses.global_mean(values, config.batch_size)

    real = tf.cast(draws.images, tf.float32) / 127.5 - 1
    with tf.GradientTape() as g_tape:
        g_tape.watch(state.g_weights)
        fake, g_statistics = forward(generator, state.g_weights, state.g_statistics, draws.noise, recompute=recompute)

    with tf.GradientTape(persistent=True) as d_tape:
        d_tape.watch([*state.d_weights, fake])
        with tf.GradientTape() as r1_tape:
            r1_tape.watch(real)
            real_logits, d_statistics = judge(real, state.d_statistics, draws.real_masks)
        fake_logits, d_statistics = judge(fake, d_statistics, draws.fake_masks)
        g_loss = mean(losses.generator(config, fake_logits))
        d_loss = mean(losses.discriminator(config, real_logits, fake_logits))
        if config.r1:  # gamma / 2 E |grad D(x)|^2 (Mescheder et al. 2018, Eq. 9)
            d_loss += config.r1 / 2 * mean(tf.square(losses.norms(r1_tape.gradient(real_logits, real))))
        if config.loss == "wgan_gp":
            between = draws.mix * real + (1 - draws.mix) * tf.stop_gradient(fake)
            with tf.GradientTape() as gp_tape:
                gp_tape.watch(between)
                logits, _ = judge(between, d_statistics, draws.real_masks)
            d_loss += config.gradient_penalty * mean(tf.square(losses.norms(gp_tape.gradient(logits, between)) - 1))
        g_target, d_target = g_loss * scales[0], d_loss * scales[1]

    share = losses.generator_share(config, fake_logits)
    if not train_g:
        d_gradients, g_gradients = d_tape.gradient(d_target, state.d_weights), []
    else:
        if share is None:
            d_gradients = d_tape.gradient(d_target, state.d_weights)
            pull = d_tape.gradient(g_target, fake)
        else:
            *d_gradients, pull = d_tape.gradient(d_target, [*state.d_weights, fake])
            pull *= share[:, :, None, None]
        g_gradients = g_tape.gradient(fake, state.g_weights, output_gradients=pull)
    opinions = [mean(tf.sigmoid(logits)) for logits in (real_logits, fake_logits)]
    return Shares(tf.stack([g_loss, d_loss, *opinions]), d_gradients, g_gradients, (g_statistics, d_statistics))


def forward(
    net: keras.Model, weights: Tensors, statistics: Tensors, x: tf.Tensor, masks: Tensors = (), *, recompute: bool = False
) -> tuple[tf.Tensor, list[tf.Tensor]]:
    """Output of `net` in training and its new moving statistics; `masks` go to the dropout layers in turn.

    With `recompute` only what enters each convolution or product is kept for the gradient; the rest is computed again.
    """
    left, kept, keep = deque(weights), deque(statistics), deque(masks)
    updated: list[tf.Tensor] = []
    for block in _blocks(net):
        own = [left.popleft() for layer in block for _ in layer.trainable_variables]
        before = [[kept.popleft() for _ in layer.non_trainable_variables] for layer in block]
        drops = [[keep.popleft()] if isinstance(layer, KeyedDropout) else [] for layer in block]

        def run(x: tf.Tensor, *own: tf.Tensor, block: Any = block, before: Any = before, drops: Any = drops) -> tuple[tf.Tensor, ...]:
            given, after = deque(own), []
            for layer, old, mask in zip(block, before, drops, strict=True):
                values = [*((v, given.popleft()) for v in layer.trainable_variables), *zip(layer.non_trainable_variables, old, strict=True)]
                training = {"training": True} if isinstance(layer, keras.layers.BatchNormalization) else {}
                with keras.StatelessScope(state_mapping=values) as scope:  # Layer.stateless_call would not cast to the layer's precision
                    x = layer([x, *mask] if mask else x, **training)
                after += [scope.get_current_value(v) for v in layer.non_trainable_variables]
            return (x, *after)

        x, *new = (tf.recompute_grad(run) if recompute else run)(x, *own)
        updated += new
    return x, updated


def _blocks(net: keras.Model) -> list[list[keras.layers.Layer]]:
    blocks: list[list[keras.layers.Layer]] = []
    for layer in net.layers:
        if isinstance(layer, keras.layers.InputLayer):
            continue
        if hasattr(layer, "kernel") or not blocks:
            blocks.append([])
        blocks[-1].append(layer)
    return blocks
