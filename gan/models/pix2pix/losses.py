"""The losses of pix2pix, per picture (Isola et al. 2017, Eqs. 1 to 4): D separates real from
generated patches, G fools it near the target."""

from __future__ import annotations

import tensorflow as tf

from ganboard.gan.models.pix2pix.config import Config


def patches(logits: tf.Tensor, real: bool) -> tf.Tensor:
    """Cross-entropy [B] of `logits` [B, n, n, 1] with what D should say, the mean over patches."""
    return tf.reduce_mean(tf.nn.softplus(-logits if real else logits), [1, 2, 3])


def distance(made: tf.Tensor, target: tf.Tensor) -> tf.Tensor:
    """L1 distance [B] of pictures [B, H, W, C], the mean over pixels and channels."""
    return tf.reduce_mean(tf.abs(target - made), [1, 2, 3])


def discriminator(real: tf.Tensor, made: tf.Tensor) -> tf.Tensor:
    """Half of both cross-entropies, [B]: the paper slows D down so (section 3.3); the tutorial does
    not."""
    return (patches(real, True) + patches(made, False)) / 2


def generator(config: Config, opinion: tf.Tensor, made: tf.Tensor, target: tf.Tensor) -> tf.Tensor:
    """Cross-entropy with "real" and the distance, each with its weight, [B]."""
    of_opinion = config.adversarial_weight * patches(opinion, True)
    return of_opinion + config.l1_weight * distance(made, target)
