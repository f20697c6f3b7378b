from __future__ import annotations

import math

import numpy as np
import pytest
import tensorflow as tf

from ganboard.gan.modeling import losses
from ganboard.gan.models.dcgan.config import Config

LOGITS = tf.constant([[0.0], [2.0], [-3.0]])


def log_sigmoid(x: float) -> float:
    return -math.log1p(math.exp(-x))


def test_undecided_logits_cost_log_2_each() -> None:
    zero = tf.zeros([4, 1])
    np.testing.assert_allclose(
        losses.discriminator(Config(), zero, zero), [2 * math.log(2)] * 4, rtol=1e-6
    )
    np.testing.assert_allclose(losses.generator(Config(), zero, zero), [0.6931] * 4, atol=1e-4)


def test_discriminator_loss_is_the_sum_of_both_cross_entropies() -> None:
    wanted = [-log_sigmoid(x) - log_sigmoid(-y) for x, y in ((0, 1), (2, -1), (-3, 4))]
    np.testing.assert_allclose(
        losses.discriminator(Config(), LOGITS, tf.constant([[1.0], [-1.0], [4.0]])),
        wanted,
        rtol=1e-6,
    )


@pytest.mark.parametrize(
    ("name", "formula"),
    [("non_saturating", lambda x: -log_sigmoid(x)), ("saturating", lambda x: log_sigmoid(-x))],
)
def test_generator_loss(name: str, formula: object) -> None:
    config = Config(loss=name)  # type: ignore[arg-type]
    np.testing.assert_allclose(
        losses.generator(config, LOGITS, LOGITS), [formula(x) for x in (0, 2, -3)], rtol=1e-6
    )  # type: ignore[operator]


@pytest.mark.parametrize("name", ["non_saturating", "saturating"])
def test_losses_stay_finite_for_large_logits(name: str) -> None:
    large = tf.constant([[1e4], [-1e4]])
    assert np.isfinite(losses.generator(Config(loss=name), large, large)).all()
    assert np.isfinite(losses.discriminator(Config(), large, large)).all()


def test_shares_of_the_replicas_add_up_to_the_global_mean() -> None:
    values = tf.range(12.0)
    shares = sum(float(losses.global_mean(part, 12)) for part in tf.split(values, 3))
    assert shares == pytest.approx(5.5)


def test_hinge_and_wasserstein() -> None:
    real, fake = LOGITS, tf.constant([[0.5], [-2.0], [4.0]])
    np.testing.assert_allclose(
        losses.discriminator(Config(loss="hinge"), real, fake), [1 + 1.5, 0 + 0, 4 + 5]
    )
    np.testing.assert_allclose(
        losses.discriminator(Config(loss="wgan_gp"), real, fake), [0.5, -4, 7]
    )
    for name in ("hinge", "wgan_gp"):
        config = Config(loss=name)  # type: ignore[arg-type]
        np.testing.assert_allclose(losses.generator(config, real, fake), [-0.5, 2, -4])


def test_relativistic_losses_compare_pairs() -> None:
    config = Config(loss="relativistic")
    real, fake = LOGITS, tf.constant([[0.5], [-2.0], [4.0]])
    differences = (0 - 0.5, 2 + 2, -3 - 4)
    wanted = [-log_sigmoid(x) for x in differences]
    np.testing.assert_allclose(losses.discriminator(config, real, fake), wanted, rtol=1e-6)
    wanted = [-log_sigmoid(-x) for x in differences]
    np.testing.assert_allclose(losses.generator(config, real, fake), wanted, rtol=1e-6)


def test_smoothed_labels_are_cross_entropy_with_a_target_below_one() -> None:
    wanted = [-0.9 * log_sigmoid(x) - 0.1 * log_sigmoid(-x) + math.log(2) for x in (0, 2, -3)]
    found = losses.discriminator(Config(label_smoothing=0.1), LOGITS, tf.zeros([3, 1]))
    np.testing.assert_allclose(found, wanted, rtol=1e-6)
