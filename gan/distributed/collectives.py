"""Sums over all replicas, in one piece each: many small exchanges cost far more than one large
one."""

from __future__ import annotations

from collections.abc import Sequence

import tensorflow as tf


def sum_over_replicas(tensors: Sequence[tf.Tensor]) -> list[tf.Tensor]:
    """Sums of float32 tensors over all replicas, of the same shapes; call it in a replica."""
    context = tf.distribute.get_replica_context()
    if context.num_replicas_in_sync == 1:
        return list(tensors)
    flat = context.all_reduce("SUM", tf.concat([tf.reshape(t, [-1]) for t in tensors], 0))
    pieces = tf.split(flat, [t.shape.num_elements() for t in tensors])
    return [tf.reshape(piece, t.shape) for piece, t in zip(pieces, tensors, strict=True)]


def sum_over_workers(strategy: tf.distribute.Strategy, tensor: tf.Tensor) -> tf.Tensor:
    """Sum of one tensor of each process over all processes; call it outside of graphs and
    replicas."""
    several = isinstance(strategy, tf.distribute.MultiWorkerMirroredStrategy)
    return strategy.reduce("SUM", tensor, axis=None) if several else tensor
