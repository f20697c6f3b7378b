"""A network as a pure function of its weights and statistics, and what gradients on a micro-batch
are made of.

Being pure it can be compiled by XLA although it runs in every replica, where variables may not be
assigned, and extra discriminator steps leave no trace in the generator's moving statistics.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from contextlib import nullcontext
from typing import Any, NamedTuple

import keras
import tensorflow as tf

from ganboard.gan.layers import keyed
from ganboard.gan.layers.masked_dropout import MaskedDropout

Tensors = Sequence[tf.Tensor]


class State(NamedTuple):
    """Weights and moving statistics of both nets."""

    g_weights: Tensors
    g_statistics: Tensors
    d_weights: Tensors
    d_statistics: Tensors


class Shares(NamedTuple):
    """This micro-batch's share of every mean over the global batch; shares are summed over
    micro-batches and replicas."""

    # METRICS (loss of G, loss of D, D's mean opinion of real and of generated images), then the
    # model's own terms
    metrics: tf.Tensor
    d_gradients: Tensors  # empty when D is not trained
    g_gradients: Tensors  # empty when G is not trained
    statistics: tuple[Tensors, Tensors]  # new moving statistics of G and D; empty where they stay


METRICS = ("g_loss", "d_loss", "d_real", "d_fake")


def forward(
    net: keras.Model,
    weights: Tensors,
    statistics: Tensors,
    x: tf.Tensor,
    masks: Tensors = (),
    *,
    recompute: bool = False,
    together: int = 1,
    training: bool = True,
) -> tuple[tf.Tensor, list[tf.Tensor]]:
    """Output of `net` in `training` and its new moving statistics; `masks` go to the dropout layers
    in turn.

    With `recompute` only what enters each convolution or product is kept for the gradient, or every
    second with `together` = 2 and so on; the rest is computed again.
    """
    left, kept, keep = deque(weights), deque(statistics), deque(masks)
    updated: list[tf.Tensor] = []
    blocks = _blocks(net)
    for first in range(0, len(blocks), together):
        block = [layer for part in blocks[first : first + together] for layer in part]
        own = [left.popleft() for layer in block for _ in layer.trainable_variables]
        before = [[kept.popleft() for _ in layer.non_trainable_variables] for layer in block]
        drops = [[keep.popleft()] if isinstance(layer, MaskedDropout) else [] for layer in block]

        def run(
            x: tf.Tensor,
            *own: tf.Tensor,
            block: Any = block,
            before: Any = before,
            drops: Any = drops,
        ) -> tuple[tf.Tensor, ...]:
            given, after = deque(own), []
            for layer, old, mask in zip(block, before, drops, strict=True):
                values = [
                    *((v, given.popleft()) for v in layer.trainable_variables),
                    *zip(layer.non_trainable_variables, old, strict=True),
                ]
                mode = (
                    {"training": training}
                    if isinstance(layer, keras.layers.BatchNormalization)
                    else {}
                )
                # Layer.stateless_call would not cast to the layer's precision
                with (
                    tf.name_scope(f"{net.name}/"),  # operations are named after network and layer
                    keras.StatelessScope(state_mapping=values) as scope,
                ):
                    x = layer([x, *mask] if mask else x, **mode)
                after += [scope.get_current_value(v) for v in layer.non_trainable_variables]
            return (x, *after)

        x, *new = (tf.recompute_grad(run) if recompute else run)(x, *own)
        updated += new
    return x, updated


def call(
    net: keras.Model, weights: Tensors, statistics: Tensors, inputs: Tensors, numbers: Tensors = ()
) -> tuple[tf.Tensor, Tensors]:
    """Output of any `net` in training with these weights and moving statistics, and its new
    statistics; `numbers` are drawn for its keyed layers in the order in which they ask."""
    values = [
        *zip(net.trainable_variables, weights, strict=True),
        *zip(net.non_trainable_variables, statistics, strict=True),
    ]
    answers = keyed.given(numbers) if numbers else nullcontext()
    with answers, keras.StatelessScope(state_mapping=values) as scope:
        # operations are named after network and layer
        output = net(inputs if len(inputs) > 1 else inputs[0], training=True)
    return output, [scope.get_current_value(variable) for variable in net.non_trainable_variables]


def _blocks(net: keras.Model) -> list[list[keras.layers.Layer]]:
    blocks: list[list[keras.layers.Layer]] = []
    for layer in net.layers:
        if isinstance(layer, keras.layers.InputLayer):
            continue
        if hasattr(layer, "kernel") or not blocks:
            blocks.append([])
        blocks[-1].append(layer)
    return blocks
