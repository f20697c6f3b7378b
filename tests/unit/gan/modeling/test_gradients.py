"""The gradients of `gan.modeling.simultaneous` with DCGAN's networks against plain maths: one tape
for each loss, the models called as anyone would call them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from ganboard.gan.config import RunConfig, parse
from ganboard.gan.modeling import losses
from ganboard.gan.modeling.gradients import Shares, State
from ganboard.gan.modeling.recipe import Phase
from ganboard.gan.modeling.simultaneous import Draws
from ganboard.gan.models.dcgan import architecture
from ganboard.gan.models.dcgan.recipe import Recipe
from ganboard.gan.training.step import Networks, networks

ROWS = 4
GENERATOR = np.random.default_rng(0)
IMAGES = tf.constant((GENERATOR.random((ROWS, 28, 28, 1)) * 255).astype(np.uint8))
NOISE = tf.constant(GENERATOR.normal(size=(ROWS, 8)), tf.float32)
MASKS = [
    [tf.constant(GENERATOR.random((ROWS, *shape)) > 0.3) for shape in architecture.MASKS]
    for _ in range(2)
]
MIX = tf.constant(GENERATOR.random((ROWS, 1, 1, 1)), tf.float32)


def prepared(**changes: Any) -> tuple[RunConfig, Networks]:
    config = parse({"dataset": "digits", "batch_size": ROWS, "latent_dim": 8, **changes})
    nets = networks(config)
    for variable in (*nets.discriminator.trainable_variables, *nets.generator.trainable_variables):
        variable.assign(variable * 3)  # further from zero the two losses disagree more
    return config, nets


def found(config: RunConfig, nets: Networks, train_g: bool = True) -> Shares:
    parts = [
        v
        for net in (nets.generator, nets.discriminator)
        for v in (net.trainable_variables, net.non_trainable_variables)
    ]
    state = State(*([v.value for v in variables] for variables in parts))
    return Recipe(config).shares(
        nets.generator,
        nets.discriminator,
        state,
        Draws(IMAGES, [], NOISE, [], *MASKS, MIX),
        [tf.ones([])] * 2,
        Phase(d=True, g=train_g),
    )


def on_paper(config: RunConfig, nets: Networks) -> tuple[list[tf.Tensor], list[tf.Tensor]]:
    """Gradients of D and G, each from a backward pass of its own."""
    real = tf.cast(IMAGES, tf.float32) / 127.5 - 1
    with tf.GradientTape(persistent=True) as tape:
        fake = nets.generator(NOISE, training=True)
        real_logits = nets.discriminator([real, *MASKS[0]], training=True)
        fake_logits = nets.discriminator([fake, *MASKS[1]], training=True)
        d_loss = tf.reduce_mean(losses.discriminator(config, real_logits, fake_logits))
        g_loss = tf.reduce_mean(losses.generator(config, real_logits, fake_logits))
        for weight, at, masks, target in (
            (config.r1 / 2, real, MASKS[0], 0),
            (config.r2 / 2, tf.stop_gradient(fake), MASKS[1], 0),
            (
                config.gradient_penalty if config.loss == "wgan_gp" else 0,
                MIX * real + (1 - MIX) * tf.stop_gradient(fake),
                MASKS[0],
                1,
            ),
        ):
            if weight:
                with tf.GradientTape() as inner:
                    inner.watch(at)
                    logits = nets.discriminator([at, *masks], training=True)
                norms = tf.norm(tf.reshape(inner.gradient(logits, at), [ROWS, -1]), axis=1)
                d_loss += weight * tf.reduce_mean((norms - target) ** 2)
    return (
        tape.gradient(d_loss, [v.value for v in nets.discriminator.trainable_variables]),
        tape.gradient(g_loss, [v.value for v in nets.generator.trainable_variables]),
    )


def assert_equal(gradients: Any, wanted: Any, relative: float = 1e-4) -> None:
    scales = [float(tf.reduce_max(tf.abs(other))) for other in wanted]
    for gradient, other, scale in zip(gradients, wanted, scales, strict=True):
        np.testing.assert_allclose(gradient, other, atol=relative * scale + 1e-9)
    # the Wasserstein loss gives the last bias no gradient
    assert sum(scale > 0 for scale in scales) >= len(scales) - 1


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"loss": "saturating"},
        {"loss": "hinge"},
        {"loss": "wgan_gp"},
        {"loss": "relativistic"},
        {"r1": 10.0},
        {"loss": "relativistic", "r1": 10.0, "r2": 5.0},
        {"label_smoothing": 0.1},
        {"discriminator_batch_norm": True},
        {"recompute": True},
        {"convolution": "direct"},
        {"generator_batch_norm": False},
        {"table1_literal": True},
    ],
    ids=str,
)
def test_gradients_are_those_of_plain_maths(changes: dict[str, Any]) -> None:
    config, nets = prepared(**changes)
    d, g = on_paper(config, nets)
    for variable, value in zip(
        nets.generator.non_trainable_variables,
        networks(config).generator.non_trainable_variables,
        strict=True,
    ):
        variable.assign(value)  # the plain call has moved the statistics
    ours = found(config, nets)
    assert_equal(ours.d_gradients, d)
    assert_equal(ours.g_gradients, g)


def test_training_d_alone_gives_the_same_gradients_of_d() -> None:
    config, nets = prepared()
    both, alone = found(config, nets), found(config, nets, train_g=False)
    assert_equal(alone.d_gradients, both.d_gradients, 1e-6)
    assert alone.g_gradients == []


@pytest.mark.parametrize("loss", ["non_saturating", "saturating", "wgan_gp", "relativistic"])
def test_the_factor_between_both_losses_is_right_and_finite_for_any_logit(loss: str) -> None:
    config = parse({"loss": loss})
    logits = tf.constant([[-200.0], [-80.0], [-3.0], [0.0], [5.0], [80.0]])
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(logits)
        d, g = (
            losses.discriminator(config, tf.zeros_like(logits), logits),
            losses.generator(config, tf.zeros_like(logits), logits),
        )
    factor = losses.generator_share(config, tf.zeros_like(logits), logits)
    assert np.isfinite(factor).all()
    np.testing.assert_allclose(
        factor * tape.gradient(d, logits), tape.gradient(g, logits), rtol=1e-5, atol=1e-19
    )


@pytest.mark.parametrize(
    "changes", [{"loss": "hinge"}, {"r2": 1.0}, {"precision": "mixed_float16"}], ids=str
)
def test_where_one_pass_cannot_serve_both_losses_there_are_two(changes: dict[str, Any]) -> None:
    zero = tf.zeros([1, 1])
    assert losses.generator_share(parse(changes), zero, zero) is None


def test_new_statistics_are_returned_and_none_is_assigned() -> None:
    config, nets = prepared(discriminator_batch_norm=True)
    before = [v.numpy() for v in nets.generator.non_trainable_variables]
    g, d = found(config, nets).statistics
    for variable, value in zip(nets.generator.non_trainable_variables, before, strict=True):
        np.testing.assert_array_equal(variable, value)
    assert any(np.abs(new - old).max() > 1e-3 for new, old in zip(g, before, strict=True))
    assert len(d) == len(nets.discriminator.non_trainable_variables)


def test_recomputing_changes_neither_figures_nor_statistics() -> None:
    config, nets = prepared()
    kept, again = (
        found(config, nets),
        found(parse({**config.model_dump(), "recompute": True}), nets),
    )
    np.testing.assert_allclose(kept.metrics, again.metrics, rtol=1e-6)
    for a, b in zip(kept.statistics[0], again.statistics[0], strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-6)
