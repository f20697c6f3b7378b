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


def divergence(made: tf.Tensor, solid: tf.Tensor) -> tf.Tensor:
    """Mean absolute divergence [B] of the velocities of frames [B, H, W, 3], in inlet speeds per
    cell, by central differences; 0 in an incompressible flow. Cells beside the solid [B, H, W, 1]
    and at the edges count as 0."""
    along = (made[:, 1:-1, 2:, 0] - made[:, 1:-1, :-2, 0]) / 2
    across = (made[:, 2:, 1:-1, 1] - made[:, :-2, 1:-1, 1]) / 2
    near = tf.nn.max_pool2d(solid, 3, 1, "VALID")[..., 0]
    return tf.reduce_mean(tf.abs(along + across) * (1 - near), [1, 2])


def generator(
    config: Config, opinion: tf.Tensor, made: tf.Tensor, target: tf.Tensor, solid: tf.Tensor
) -> tf.Tensor:
    """Cross-entropy with "real", the distance and the divergence, each with its weight, [B]."""
    loss = config.adversarial_weight * patches(opinion, True)
    loss += config.l1_weight * distance(made, target)
    if config.divergence_weight:
        loss += config.divergence_weight * divergence(made, solid)
    return loss
