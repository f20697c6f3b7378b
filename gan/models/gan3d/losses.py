"""The losses of 3DGAN, per event: is it real, and do its energy, angle and sum of cells fit the
particle's (AngleArch3dGAN, EcalEnergyGan).

BCE, MAPE, MAE and MAPE with weights 3, 0.1, 25 and 0.1; at a fixed angle 6, 0.2, 0 and 0.1.
"""

from __future__ import annotations

import tensorflow as tf

from ganboard.gan.models.gan3d import heads

WEIGHTS = {"51x51x25": (3.0, 0.1, 25.0, 0.1), "25x25x25": (6.0, 0.2, 0.0, 0.1)}
# of cells in images: it lifts the weak ones (Khattak et al. 2022, section 4)
POWERS = {"51x51x25": 0.85, "25x25x25": 1.0}
TERMS = ("real", "energy", "angle", "ecal")
FLIPPED = 0.05  # share of D's labels that are turned, so that it is never quite sure
_LEAST = 1e-7  # of what a relative error is divided by, as Keras has it


def terms(
    opinion: tf.Tensor, image: tf.Tensor, labels: tf.Tensor, target: tf.Tensor, power: float
) -> tf.Tensor:
    """Unweighted losses [n, 4] in the order of TERMS.

    `opinion` [n, 2] is what D says of `image` [n, x, y, z, 1], which holds cells to this `power`;
    `labels` [n, 3] are the particle's energy in 100 GeV, its angle in rad and the sum of its cells;
    `target` [n] is 1 where D should say "real".
    """
    deposited = heads.cells(image, power)
    energy, angle, ecal = tf.unstack(labels, axis=1)
    return tf.stack(
        [
            tf.nn.sigmoid_cross_entropy_with_logits(target, opinion[:, 0]),
            _percent(energy, opinion[:, 1]),
            tf.abs(angle - heads.angle(deposited)),
            _percent(ecal, heads.energy(deposited)),
        ],
        1,
    )


def _percent(wanted: tf.Tensor, got: tf.Tensor) -> tf.Tensor:
    """Absolute error in per cent of what is wanted."""
    return 100 * tf.abs(wanted - got) / tf.maximum(tf.abs(wanted), _LEAST)
