"""Batch norm in one operation each way, or over all replicas with one exchange instead of three.

Keras composes it of some twenty passes over the maps. TensorFlow's fused operation takes 11 ms
instead of 37 for the three of DCGAN's generator and 256 images on two cores, forward and backward;
the results differ by rounding.

A small all-reduce costs what its messages cost, 0.8 ms of CPU time between two processes. Keras
3.15 sums values, squares and counts in an exchange each, and two of them again backward: 15 for a
generator with three such layers, here 6.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import keras
import tensorflow as tf

from ganboard.gan.config import RunConfig
from ganboard.gan.devices import runtime


def synchronized(config: RunConfig) -> bool:
    """Whether batch norm takes its statistics over all replicas, so that n replicas compute what
    one computes.

    With sync_batch_norm off each takes the statistics of its own share, and so does a function that
    XLA compiles for a GPU, which cannot wait for other replicas in the middle.
    """
    return config.replicas > 1 and config.sync_batch_norm and not runtime.compiled(config)


class BatchNormalization(keras.layers.BatchNormalization):  # type: ignore[misc]
    """Keras's layer for channels that come last; with `synchronized` all replicas must give it
    inputs of equal shape."""

    def call(self, inputs: tf.Tensor, training: bool | None = None, mask: Any = None) -> tf.Tensor:
        half = inputs.dtype == tf.float16  # which not every processor has
        own = training and self.trainable and mask is None and not self.renorm and not half
        replica = tf.distribute.get_replica_context()
        together = self.synchronized and replica is not None and replica.num_replicas_in_sync > 1
        # accelerators compile the composed form, or have kernels of their own for it
        if not own or runtime.accelerated():
            return super().call(inputs, training=training, mask=mask)
        channels = inputs.shape[-1]
        rows = tf.reshape(inputs, [1, -1, 1, channels])
        if channels % 16:
            # in 16 bits the operation is a twentieth as fast there
            rows = tf.cast(rows, tf.float32)
        outputs, mean, variance = (_over_replicas if together else _of_one)(
            rows,
            self.gamma.value if self.scale else tf.ones([channels]),
            self.beta.value if self.center else tf.zeros([channels]),
            self.epsilon,
        )
        for moving, now in ((self.moving_mean, mean), (self.moving_variance, variance)):
            moving.assign(moving * self.momentum + now * (1 - self.momentum))
        return tf.cast(tf.reshape(outputs, tf.shape(inputs)), self.compute_dtype)

    def _moments(self, inputs: tf.Tensor, mask: Any) -> tuple[tf.Tensor, tf.Tensor]:
        """Mean and variance [channels] over all other axes, as
        `keras.src.backend.tensorflow.nn._compute_moments_sync` has them."""
        replica = tf.distribute.get_replica_context()
        if not self.synchronized or replica is None or replica.num_replicas_in_sync == 1:
            return super()._moments(inputs, mask)  # type: ignore[no-any-return]
        return _moments_over_replicas(tf.reshape(inputs, [-1, inputs.shape[-1]]))


def _of_one(
    rows: tf.Tensor, scale: tf.Tensor, offset: tf.Tensor, epsilon: float
) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
    """`rows` [1, n, 1, channels] normalized by their own mean and variance [channels], and both."""
    outputs, mean, variance, *_ = tf.raw_ops.FusedBatchNormV3(
        x=rows, scale=scale, offset=offset, mean=[], variance=[], epsilon=epsilon, is_training=True
    )
    # the variance that it returns is that of a sample of its rows
    count = tf.cast(tf.shape(rows)[1], tf.float32)
    return outputs, mean, variance * tf.maximum(count - 1, 1) / count


def _over_replicas(
    rows: tf.Tensor, scale: tf.Tensor, offset: tf.Tensor, epsilon: float
) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
    """As `_of_one`, by the mean and variance of the rows of all replicas, in fused operations."""

    @tf.custom_gradient  # type: ignore[untyped-decorator]
    def normalize(rows: tf.Tensor, scale: tf.Tensor, offset: tf.Tensor) -> Any:
        _, *own = _of_one(rows, scale, offset, epsilon)
        mean, variance = _joined(*own)
        outputs = _by(rows, scale, offset, mean, variance, epsilon)

        @tf.custom_gradient  # type: ignore[untyped-decorator]
        def gradients(upstream: tf.Tensor, rows: tf.Tensor, scale: tf.Tensor) -> Any:
            # as if mean and variance were constants
            direct, of_scale, of_offset, *_ = tf.raw_ops.FusedBatchNormGradV3(
                y_backprop=upstream,
                x=rows,
                scale=scale,
                reserve_space_1=mean,
                reserve_space_2=variance,
                reserve_space_3=[],
                epsilon=epsilon,
                is_training=False,
            )
            # and what reaches a row through them (Ioffe and Szegedy 2015, section 3)
            replica = tf.distribute.get_replica_context()
            both = replica.all_reduce("MEAN", tf.stack([of_scale, of_offset]))
            count = tf.cast(tf.shape(rows)[1], tf.float32)
            through = -scale * tf.math.rsqrt(variance + epsilon) / count * both
            indirect = _by(rows, through[0], through[1], mean, variance, epsilon)
            # a penalty on gradients differentiates once more
            return (direct + indirect, of_scale, of_offset), lambda *pull: _differentiate(
                upstream, rows, scale, epsilon, pull
            )

        return (outputs, mean, variance), lambda upstream, *_: gradients(upstream, rows, scale)

    found: tuple[tf.Tensor, tf.Tensor, tf.Tensor] = normalize(rows, scale, offset)
    return found


def _differentiate(
    upstream: tf.Tensor,
    rows: tf.Tensor,
    scale: tf.Tensor,
    epsilon: float,
    pull: Sequence[tf.Tensor],
) -> list[tf.Tensor]:
    """Gradients, with respect to `upstream`, `rows` and `scale`, of the gradients of batch norm
    over all replicas, weighted by `pull`; from the composed form."""
    with tf.GradientTape() as outer:
        outer.watch([upstream, rows, scale])
        with tf.GradientTape() as inner:
            offset = tf.zeros_like(scale)
            inner.watch([rows, scale, offset])
            values = tf.cast(tf.reshape(rows, [-1, rows.shape[-1]]), tf.float32)
            mean, variance = _moments_over_replicas(values)
            outputs = (values - mean) * tf.math.rsqrt(variance + epsilon) * scale + offset
        weights = tf.reshape(tf.cast(upstream, tf.float32), [-1, rows.shape[-1]])
        found = inner.gradient(outputs, [rows, scale, offset], weights)
    return outer.gradient(found, [upstream, rows, scale], list(pull))  # type: ignore[no-any-return]


def _by(
    rows: tf.Tensor,
    scale: tf.Tensor,
    offset: tf.Tensor,
    mean: tf.Tensor,
    variance: tf.Tensor,
    epsilon: float,
) -> tf.Tensor:
    return tf.raw_ops.FusedBatchNormV3(
        x=rows,
        scale=scale,
        offset=offset,
        mean=mean,
        variance=variance,
        epsilon=epsilon,
        is_training=False,
    ).y


def _moments_over_replicas(values: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    """Mean and variance [channels] of the `values` [n, channels] of all replicas."""
    mean = tf.reduce_mean(values, 0)
    return _joined(mean, tf.reduce_mean(tf.math.squared_difference(values, mean), 0))


def _joined(mean: tf.Tensor, variance: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    """Mean and variance [channels] over all replicas, of each one's own."""
    replica = tf.distribute.get_replica_context()
    own = tf.stack([mean, variance])
    # everybody's own in a row each: a difference of sums of squares would lose a small variance
    # beside a large mean, and nearly empty maps have no other; shares of equal size join as in
    # Chan, Golub and LeVeque 1983
    row = tf.one_hot(
        replica.replica_id_in_sync_group, replica.num_replicas_in_sync, dtype=own.dtype
    )
    means, variances = tf.unstack(replica.all_reduce("SUM", row * own[..., None]))
    whole = tf.reduce_mean(means, 1)
    return whole, tf.reduce_mean(variances + tf.math.squared_difference(means, whole[:, None]), 1)
