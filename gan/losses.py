"""Losses of both nets, per example and from logits, with one float32 number per image: the caller averages over the global batch once.

Keras loss objects are not used: inside a strategy they divide by the number of replicas themselves, which is easily done twice.
"""

from __future__ import annotations

import tensorflow as tf

from gan.config import RunConfig


def discriminator(real: tf.Tensor, fake: tf.Tensor) -> tf.Tensor:
    """-log D(x) - log(1 - D(G(z))) (Eq. 4 of the study): logits [batch, 1] twice -> [batch]."""
    return tf.squeeze(tf.nn.softplus(-real) + tf.nn.softplus(fake), 1)


def generator(config: RunConfig, fake: tf.Tensor) -> tf.Tensor:
    """Logits of generated images [batch, 1] -> [batch].

    non_saturating: -log D(G(z)) (Goodfellow et al. 2014, section 3). saturating: log(1 - D(G(z))) (Eq. 5 of the study), which is negative.
    """
    loss = tf.nn.softplus(-fake) if config.loss == "non_saturating" else -tf.nn.softplus(fake)
    return tf.squeeze(loss, 1)


def global_mean(losses: tf.Tensor, batch_size: int) -> tf.Tensor:
    """This replica's share of the mean over the global batch: summed over all replicas it is that mean."""
    return tf.reduce_sum(losses) / batch_size
