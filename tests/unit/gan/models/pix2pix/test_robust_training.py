"""Steps of pix2pix that predict changes, from noisy frames and from G's own predictions."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from ganboard.gan.data import load
from ganboard.gan.models.pix2pix import losses
from ganboard.gan.training.step import Stepper
from tests.recorder import assert_resumes
from tests.unit.gan.models.pix2pix.steps import config, gradients, stepper

STEADY = {"network": "compact", "width": 8, "predict": "change"}
ROBUST = {**STEADY, "input_noise": 0.02, "pushforward": 0.5}


def drawn(home: Path, **changes: Any) -> tuple[Stepper, list[tf.Tensor], Any]:
    """A stepper, the rows of all four pairs, and what is drawn for them."""
    made = stepper(home, **changes, batch_size=4)
    recipe = made.recipe
    rows = recipe.rows(recipe.columns(load(config(**changes), home)), tf.range(4))
    draws = recipe.draws(recipe.phases[0], rows, tf.constant(0, tf.int64), tf.constant(0))
    return made, rows, draws


def test_a_pair_at_the_end_of_a_flow_never_starts_from_a_prediction(home: Path) -> None:
    _, (frames_seen, continues), draws = drawn(home, **STEADY, pushforward=1.0)
    # of 5 frames in each of 2 flows, four pairs: they begin at 0 and 2 of the one, 1 and 3 of the
    # other
    assert continues.numpy().tolist() == [1, 1, 1, 0]
    assert draws.pushed[:, 0, 0, 0].numpy().tolist() == [True, True, True, False]
    assert frames_seen.shape == (4, 66, 72, 10)
    held = load(config(), home)
    later = held.frames[held.at[continues.numpy() > 0] + 2].astype(np.float32)
    np.testing.assert_array_equal(frames_seen[:3, ..., 7:], later)


def test_a_pushed_pair_is_one_frame_later_and_its_first_step_has_no_gradient(home: Path) -> None:
    made, _, draws = drawn(home, **STEADY, pushforward=1.0)
    nets = made.nets
    found = gradients(made, draws)
    first = nets.generator(draws.before, training=True)
    before = tf.where(draws.pushed, tf.concat([first, draws.before[..., 3:]], -1), draws.before)
    after = tf.where(draws.pushed, draws.later, draws.after)
    with tf.GradientTape() as tape:
        g_l1 = tf.reduce_mean(tf.abs(nets.generator(before, training=True) - after))
        fooled = tf.math.softplus(
            -nets.discriminator([before, nets.generator(before, training=True)], training=True)
        )
        g_loss = 100 * g_l1 + tf.reduce_mean(fooled)
    np.testing.assert_allclose(found.metrics.numpy()[[0, 4]], [g_loss, g_l1], rtol=1e-5)
    wanted = tape.gradient(g_loss, [v.value for v in nets.generator.trainable_variables])
    for a, b in zip(found.g_gradients, wanted, strict=True):
        np.testing.assert_allclose(a, b, atol=2e-4 * float(np.abs(b).max()) + 1e-6)


def test_noise_has_its_deviation_in_the_fluid_and_none_in_the_solid(home: Path) -> None:
    plain, noisy = (drawn(home, **STEADY, input_noise=noise)[2] for noise in (0.0, 0.02))
    added = (noisy.before - plain.before).numpy()
    solid = plain.before[..., 3].numpy() > 0
    assert solid.any()
    assert not added[solid].any()
    assert not added[..., 3].any()
    assert added[~solid][:, :3].std() == pytest.approx(0.02, rel=0.02)
    np.testing.assert_array_equal(noisy.after, plain.after)


def test_a_change_begins_near_a_flow_that_stands_still_and_keeps_the_solid(home: Path) -> None:
    made, _, draws = drawn(home, **STEADY)
    predicted = made.nets.generator(draws.before).numpy()
    given, solid = draws.before[..., :3].numpy(), draws.before[..., 3].numpy() > 0
    np.testing.assert_array_equal(predicted[solid], given[solid])
    assert 0 < np.abs(predicted - given).max() < 0.1


@pytest.mark.parametrize(
    ("weights", "factors"),
    [
        ({"l1_weight": 0.0}, (1, 0, 0)),
        ({"adversarial_weight": 0.0, "l1_weight": 10.0}, (0, 10, 0)),
        ({"l1_weight": 0.0, "divergence_weight": 3.0}, (1, 0, 3)),
    ],
)
def test_the_loss_of_g_has_the_weights_of_the_configuration(
    weights: dict[str, float], factors: tuple[float, float, float]
) -> None:
    logits, solid = tf.zeros([1, 2, 2, 1]), tf.zeros([1, 3, 3, 1])
    made = tf.tile(tf.reshape([0.0, 0.5, 1.0], [1, 1, 3, 1]), [1, 3, 1, 3])  # u_x gains 0.5 a cell
    found = losses.generator(config(**weights), logits, made, made + 1, solid)
    wanted = factors[0] * np.log(2) + factors[1] + factors[2] * 0.5
    np.testing.assert_allclose(found, [wanted], rtol=1e-6)


def test_divergence_is_that_of_velocities_away_from_the_solid() -> None:
    y, x = np.mgrid[:5, :6].astype(np.float32)
    turning = np.stack([y, x, x * y], -1)[None]  # incompressible, whatever its vorticity
    solid = np.zeros([1, 5, 6, 1], np.float32)
    assert float(losses.divergence(turning, solid)[0]) == 0
    growing = np.stack([3 * x, -y, x], -1)[None]
    assert float(losses.divergence(growing, solid)[0]) == 2
    solid[0, 2, 2] = 1  # nine of the twelve inner cells are beside it
    assert float(losses.divergence(growing, solid)[0]) == pytest.approx(2 * 3 / 12)


def test_a_history_is_seen_newest_first_through_one_window(home: Path) -> None:
    changes = {**STEADY, "history": 2, "pushforward": 1.0}
    made, (frames_seen, continues), draws = drawn(home, **changes)
    # the first pair of a flow begins at its second frame
    held = load(config(**changes), home)
    assert held.at.tolist() == [1, 3, 6, 8]
    whole = frames_seen.numpy()
    for place, ago in enumerate((0, 1)):
        wanted = held.frames[held.at - ago].astype(np.float32)
        np.testing.assert_array_equal(whole[..., 3 * place : 3 * place + 3], wanted)
    assert draws.before.shape == (4, 64, 64, 7)
    pushed = made.recipe._pushed(made.nets.generator, made.replica.state(), draws)
    chosen = continues.numpy() > 0
    assert chosen.any()
    np.testing.assert_array_equal(pushed.before[..., 3:6][chosen], draws.before[..., :3][chosen])
    np.testing.assert_array_equal(pushed.before[..., 6], draws.before[..., 6])
    assert gradients(made, draws).g_gradients


@pytest.mark.slow
@pytest.mark.thorough
def test_with_noise_and_pushforward_a_stopped_training_ends_as_one_that_was_not(
    home: Path, tmp_path: Path
) -> None:
    for name in ("whole", "parts"):
        shutil.copytree(home, tmp_path / name)
    assert_resumes(config(**ROBUST), tmp_path)
