from __future__ import annotations

from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf

from ganboard.gan.config import RunConfig, parse
from ganboard.gan.modeling import losses
from ganboard.gan.rng import philox
from ganboard.gan.training.step import Networks, Stepper, networks

IMAGES = (np.random.default_rng(0).random((16, 28, 28, 1)) * 255).astype(np.uint8)
SMALL = {"dataset": "digits", "batch_size": 4, "latent_dim": 8}


def stepper(**changes: Any) -> Stepper:
    config: RunConfig = parse({**SMALL, **changes})
    return Stepper(config, tf.distribute.get_strategy(), networks(config), IMAGES)


def take(made: Stepper, first: int = 0, count: int = 1) -> tuple[np.ndarray, np.ndarray]:
    taken = made.run(philox.order(made.config.seed, 1, len(IMAGES)), first, first, count)
    return taken.g_loss, taken.d_loss


def largest(a: dict[str, np.ndarray], b: dict[str, np.ndarray]) -> float:
    assert a.keys() == b.keys()
    return max(float(np.abs(a[name].astype(np.float64) - b[name]).max()) for name in a)


def test_steps_in_one_call_equal_steps_in_several() -> None:
    together, apart = stepper(), stepper()
    g, d = take(together, 0, 4)
    pieces = [take(apart, 0, 1), take(apart, 1, 3)]
    np.testing.assert_array_equal(g, np.concatenate([piece[0] for piece in pieces]))
    np.testing.assert_array_equal(d, np.concatenate([piece[1] for piece in pieces]))
    assert g.dtype == d.dtype == np.float32
    assert largest(together.nets.arrays(), apart.nets.arrays()) == 0
    assert together._run.experimental_get_tracing_count() == 1


def test_no_step_changes_nothing() -> None:
    made = stepper()
    before = made.nets.arrays()
    g, d = take(made, 0, 0)
    assert g.shape == d.shape == (0,)
    assert largest(made.nets.arrays(), before) == 0


def test_sgd_is_eq_2_of_the_study() -> None:
    """w <- w - lr * gradient of the mean loss: twice the rate goes twice as far, from the same
    losses."""
    moves = []
    for rate in (0.05, 0.1):
        made = stepper(optimizer="sgd", beta_1=0, g_learning_rate=rate, d_learning_rate=rate)
        before = [v.numpy() for v in made.nets.discriminator.trainable_variables]
        loss = take(made)
        moves.append(
            (
                [
                    v.numpy() - w
                    for v, w in zip(
                        made.nets.discriminator.trainable_variables, before, strict=True
                    )
                ],
                loss,
            )
        )
    np.testing.assert_array_equal(moves[0][1], moves[1][1])
    for near, far in zip(moves[0][0], moves[1][0], strict=True):
        np.testing.assert_allclose(far, 2 * near, atol=1e-7)
        assert np.abs(near).max() > 1e-6


def test_the_first_loss_is_that_of_the_untrained_networks() -> None:
    made = stepper()
    g, d = take(made)
    assert g[0] == pytest.approx(np.log(2), rel=0.1)
    assert d[0] == pytest.approx(2 * np.log(2), rel=0.1)


@pytest.mark.thorough
def test_extra_discriminator_steps_leave_the_generators_statistics_alone() -> None:
    """A generator that does not learn (rate ~ 0) has seen one batch, however often the
    discriminator was trained."""
    one, three = (stepper(d_steps=n, g_learning_rate=1e-30, optimizer="sgd") for n in (1, 3))
    take(one)
    take(three)
    means = [made.nets.generator.get_layer("norm_0").moving_mean.numpy() for made in (one, three)]
    np.testing.assert_array_equal(*means)
    assert np.abs(means[0]).max() > 0
    assert (
        np.abs(
            one.nets.discriminator.get_layer("logits").kernel.numpy()
            - three.nets.discriminator.get_layer("logits").kernel
        ).max()
        > 0
    )


@pytest.mark.thorough
def test_xla_changes_no_more_than_rounding(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "ganboard.gan.devices.runtime.compiled", lambda config: config.xla
    )  # the whole gradient function, as on accelerators
    plain, compiled = stepper(optimizer="sgd"), stepper(optimizer="sgd", xla=True)
    np.testing.assert_allclose(take(plain, 0, 3), take(compiled, 0, 3), atol=1e-5)
    assert largest(plain.nets.arrays(), compiled.nets.arrays()) < 1e-6


def test_optimizers_are_those_of_the_configuration() -> None:
    def made(**changes: Any) -> Networks:
        return networks(parse({**SMALL, **changes}))

    adam = made()
    assert isinstance(adam.g_optimizer, keras.optimizers.Adam)
    assert (
        float(adam.g_optimizer.learning_rate),
        float(adam.d_optimizer.learning_rate),
    ) == pytest.approx((1e-4, 1e-4))
    assert (adam.g_optimizer.beta_1, made(beta_1=0.5).d_optimizer.beta_1) == (0.9, 0.5)
    assert made(optimizer="sgd", beta_1=0.7).d_optimizer.momentum == 0.7
    assert isinstance(
        made(precision="mixed_float16").g_optimizer, keras.optimizers.LossScaleOptimizer
    )
    # bfloat16 needs no loss scaling
    assert isinstance(made(precision="mixed_bfloat16").g_optimizer, keras.optimizers.Adam)


def test_arrays_come_back_through_assign() -> None:
    trained, fresh = stepper(), stepper(seed=1)
    take(trained, 0, 2)
    fresh.nets.assign(trained.nets.arrays())
    assert largest(fresh.nets.arrays(), trained.nets.arrays()) == 0
    assert len(fresh.nets.arrays()) == sum(
        len(part.variables)
        for part in (
            fresh.nets.generator,
            fresh.nets.discriminator,
            fresh.nets.g_optimizer,
            fresh.nets.d_optimizer,
        )
    )


def test_gradients_are_those_of_the_losses_on_paper() -> None:
    """One SGD step of the generator equals -lr times a gradient taken here by the plain model
    call."""
    made = stepper(optimizer="sgd", beta_1=0, g_learning_rate=1.0)
    replay = stepper(optimizer="sgd", beta_1=0)
    before = made.nets.generator.get_layer("up_3").kernel.numpy()
    take(made)
    draws = replay.recipe.draws(
        replay.recipe.phases[-1], replay.recipe.example(4), tf.constant(0, tf.int64), tf.constant(0)
    )
    with tf.GradientTape() as tape:
        fake = replay.nets.generator(draws.noise, training=True)
        logits = replay.nets.discriminator([fake, *draws.at_fake], training=True)
        loss = tf.reduce_mean(losses.generator(replay.config, logits, logits))
    gradient = tape.gradient(loss, replay.nets.generator.get_layer("up_3").kernel.value)
    np.testing.assert_allclose(
        made.nets.generator.get_layer("up_3").kernel.numpy() - before, -gradient.numpy(), atol=1e-6
    )


def full(**changes: Any) -> tuple[Stepper, Any]:
    made = stepper(**changes)
    return made, made.run(philox.order(0, 1, len(IMAGES)), 0, 0, 3)


def test_accumulated_parts_are_one_batch_where_no_batch_norm_sees_them() -> None:
    plain = {"generator_batch_norm": False, "optimizer": "sgd"}
    (whole, one), (parts, four) = full(**plain), full(**plain, accumulate=4)
    assert largest(whole.nets.arrays(), parts.nets.arrays()) < 1e-6
    for name in ("g_loss", "d_loss", "d_real", "d_fake", "g_gradient"):
        np.testing.assert_allclose(getattr(one, name), getattr(four, name), rtol=1e-4)


def test_clipping_bounds_the_whole_gradient_of_each_network() -> None:
    plain = {"optimizer": "sgd", "beta_1": 0.0, "g_learning_rate": 1.0, "d_learning_rate": 1.0}
    _, free = full(**plain)
    _, clipped = full(**plain, clip_norm=0.01)
    assert free.d_gradient[0] > 0.01**2
    # SGD at rate 1: the update is the clipped gradient
    np.testing.assert_allclose(np.sqrt(clipped.d_update), 0.01, rtol=1e-4)
    assert clipped.d_gradient[0] == free.d_gradient[0]  # reported as it was


def test_the_average_follows_the_generator_and_is_what_is_shown() -> None:
    made, _ = full(ema=0.5, g_learning_rate=0.01)
    assert made.nets.eval_generator is made.nets.average
    now, mean = (
        net.get_layer("dense").kernel.numpy() for net in (made.nets.generator, made.nets.average)
    )
    start = networks(made.config).generator.get_layer("dense").kernel.numpy()
    assert 0 < np.abs(mean - now).max() < np.abs(start - now).max()
    assert any(name.startswith("average/") for name in made.nets.arrays())
    assert full()[0].nets.eval_generator is not made.nets.average


def test_update_and_gradient_give_the_effective_rate() -> None:
    _, taken = full(optimizer="sgd", beta_1=0.0, g_learning_rate=0.25, d_learning_rate=0.125)
    np.testing.assert_allclose(np.sqrt(taken.g_update / taken.g_gradient), 0.25, rtol=1e-3)
    np.testing.assert_allclose(np.sqrt(taken.d_update / taken.d_gradient), 0.125, rtol=1e-3)


def test_sixteen_bit_gradients_are_counted() -> None:
    _, taken = full(precision="mixed_bfloat16")
    assert (taken.overflows == 0).all()
    assert (taken.underflows >= 0).all()
    assert (taken.bad_tensor == -1).all()


def test_seconds_of_a_step_hold_those_of_its_parts() -> None:
    _, taken = full()
    inputs, compute, reduce, whole = taken.seconds
    assert whole.shape == (3, 1)
    assert (inputs + compute + reduce <= whole * 1.01 + 1e-4).all()
    assert (compute > 0).all()
