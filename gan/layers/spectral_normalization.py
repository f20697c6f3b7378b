"""Spectral normalisation as a pure function of the weights (Miyato et al. 2018, Algorithm 1).

Keras's layer assigns the divided kernel in each call: the trained kernel is another one after it
than the optimizer left, which no replica may do to its variables, and D's second call of a step
would divide again. Here the kernel stays, and the layer computes with kernel / sigma.
"""

from __future__ import annotations

from typing import Any

import keras
import tensorflow as tf
from keras.src.backend import AutocastScope
from keras.src.backend.common.stateless_scope import get_stateless_scope

from ganboard.gan.layers.in_keras import in_keras

_LEAST = 1e-12


class SpectralNormalization(keras.layers.SpectralNormalization):  # type: ignore[misc]
    """The wrapped layer with its kernel divided by its largest singular value, as estimated by
    `power_iterations` from `vector_u`, which moves in training."""

    def keras_layer(self) -> tuple[Any, list[Any]]:
        """The wrapped layer, and its weights with the kernel as inference divides it."""
        divided, _ = normalized(self.kernel.value, self.vector_u.value, self.power_iterations)
        weights = [
            divided if variable is self.kernel else variable for variable in self.layer.weights
        ]
        return in_keras(self.layer)[0], weights

    def call(self, inputs: Any, training: bool = False) -> Any:
        with AutocastScope(None):  # 16 bits are too few for the iteration
            divided, moved = normalized(
                self.kernel.value, self.vector_u.value, self.power_iterations
            )
        if training:
            self.vector_u.assign(moved)
        surrounding = get_stateless_scope()
        with keras.StatelessScope(state_mapping=[(self.kernel, divided)]) as scope:
            if surrounding is not None:
                scope.state_mapping = {**surrounding.state_mapping, **scope.state_mapping}
            return self.layer(inputs)


def normalized(kernel: tf.Tensor, u: tf.Tensor, iterations: int) -> tuple[tf.Tensor, tf.Tensor]:
    """A kernel [..., n] divided by the largest singular value of its matrix [-1, n], and the left
    singular vector [1, n] that the estimate of it begins with next time, from `u` [1, n].

    No gradient passes through the vectors. A kernel of zeros stays, and so does its `u`.
    """
    matrix = tf.reshape(kernel, [-1, kernel.shape[-1]])
    fixed = tf.stop_gradient(matrix)
    moved = tf.stop_gradient(u)
    for _ in range(iterations):
        v = tf.math.l2_normalize(tf.matmul(moved, fixed, transpose_b=True), epsilon=_LEAST)
        moved = tf.math.l2_normalize(tf.matmul(v, fixed), epsilon=_LEAST)
    sigma = tf.reduce_sum(tf.matmul(v, matrix) * moved)
    some = tf.reduce_any(tf.not_equal(fixed, 0))
    return kernel / tf.where(some, sigma, 1.0), tf.where(some, moved, u)
