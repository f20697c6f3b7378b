"""Losses of both nets, per example and from logits, with one float32 number per image: the caller
averages over the global batch once.

Keras loss objects are not used: inside a strategy they divide by the number of replicas themselves,
which is easily done twice.
"""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from ganboard.gan.settings.adversarial import AdversarialConfig

# below this sigmoid(logit) no longer counts as zero, so that dividing by it stays finite
_LEAST = 1e-20


def discriminator(config: AdversarialConfig, real: tf.Tensor, fake: tf.Tensor) -> tf.Tensor:
    """Logits [batch, 1] twice -> [batch].

    non_saturating, saturating: -log D(x) - log(1 - D(G(z))) (Eq. 4 of the study), with one-sided
    label smoothing (Salimans et al. 2016, section 3.4). hinge: max(0, 1 - real) + max(0, 1 + fake)
    (Miyato et al. 2018, Eq. 16). wgan_gp: fake - real (Gulrajani et al. 2017, Eq. 3). relativistic:
    -log s(real - fake) of pairs (Jolicoeur-Martineau 2019, Eq. 3; Huang et al. 2024, Eq. 2).
    """
    if config.loss == "hinge":
        loss = tf.nn.relu(1 - real) + tf.nn.relu(1 + fake)
    elif config.loss == "wgan_gp":
        loss = fake - real
    elif config.loss == "relativistic":
        loss = _softplus(fake - real)
    else:
        loss = (
            tf.nn.softplus(-real) + config.label_smoothing * real + _softplus(fake)
        )  # -t log s(x) - (1 - t) log(1 - s(x)), t = 1 - smoothing
    return tf.squeeze(loss, 1)


def generator(config: AdversarialConfig, real: tf.Tensor, fake: tf.Tensor) -> tf.Tensor:
    """Logits [batch, 1] twice -> [batch].

    non_saturating: -log D(G(z)) (Goodfellow et al. 2014, section 3). saturating: log(1 - D(G(z)))
    (Eq. 5 of the study), which is negative. hinge, wgan_gp: -fake. relativistic: -log s(fake -
    real) of pairs (Jolicoeur-Martineau 2019, Eq. 4).
    """
    kinds = {
        "non_saturating": lambda x: tf.nn.softplus(-x),
        "saturating": lambda x: -tf.nn.softplus(x),
        "relativistic": lambda x: tf.nn.softplus(real - x),
    }
    return tf.squeeze(kinds.get(config.loss, tf.negative)(fake), 1)


def generator_share(
    config: AdversarialConfig, real: tf.Tensor, fake: tf.Tensor
) -> tf.Tensor | None:
    """d generator / d logit over d discriminator / d logit at generated images [batch, 1], or None
    where the latter can vanish.

    Both losses see a generated image through one logit. As long as each logit depends on its own
    image alone, the gradients of both with respect to that image differ by this factor only, and
    one backward pass through the discriminator serves both. A penalty at generated images is none
    of the logits.
    """
    if config.loss == "hinge" or config.r2 or config.precision == "mixed_float16":
        return None
    if config.loss in ("non_saturating", "relativistic"):
        s = tf.sigmoid(fake if config.loss == "non_saturating" else fake - real)
        return (s - 1) / tf.maximum(s, _LEAST)
    return -tf.ones_like(fake)


@tf.custom_gradient  # type: ignore[untyped-decorator]
def _softplus(x: tf.Tensor) -> tuple[tf.Tensor, Any]:
    return tf.nn.softplus(x), lambda upstream: upstream * tf.maximum(tf.sigmoid(x), _LEAST)


def norms(gradient: tf.Tensor) -> tf.Tensor:
    """Euclidean norm of each image's gradient: [batch, H, W, C] -> [batch]; its own gradient is
    finite at zero."""
    return tf.sqrt(tf.reduce_sum(tf.square(gradient), [1, 2, 3]) + 1e-12)


def global_mean(losses: tf.Tensor, batch_size: int) -> tf.Tensor:
    """This replica's share of the mean over the global batch: summed over all replicas it is that
    mean."""
    return tf.reduce_sum(losses) / batch_size
