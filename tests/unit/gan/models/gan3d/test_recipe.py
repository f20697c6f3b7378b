"""Training steps of 3DGAN on sampled showers, against plain calls of its networks."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from ganboard.gan.config import parse
from ganboard.gan.models.gan3d import architecture, heads, losses, networks
from ganboard.gan.models.gan3d.data import layouts
from ganboard.gan.models.gan3d.data.reader import sampled
from ganboard.gan.models.gan3d.data.sampler import Sampler
from ganboard.gan.models.gan3d.data.showers import Showers, gather
from ganboard.gan.models.gan3d.observables import measured_angle
from ganboard.gan.models.gan3d.recipe import TOGETHER, Recipe
from ganboard.gan.rng import philox
from ganboard.gan.training.step import Stepper
from ganboard.gan.training.step import networks as made_networks
from tests.unit.gan.models.trained import assert_both_trained

EVENTS = 8
SMALL = {"model": "gan3d", "dataset": "showers", "batch_size": 4}
COUNTS = {"51x51x25": "variable", "25x25x25": "fixed"}


@cache
def showers(geometry: architecture.Geometry) -> Showers:
    layout = layouts.LAYOUTS[COUNTS[geometry]]
    batch = sampled(list(Sampler(seed=3).events(EVENTS)), layout)
    return gather([batch], EVENTS, layout.shape)


def stepper(geometry: architecture.Geometry = "25x25x25", **changes: Any) -> Stepper:
    config = parse(
        {
            **SMALL,
            "geometry": geometry,
            "optimizer": "rmsprop",
            "g_learning_rate": 1e-3,
            "d_learning_rate": 1e-3,
            **changes,
        }
    )
    return Stepper(config, tf.distribute.get_strategy(), made_networks(config), showers(geometry))


def test_showers_are_held_without_their_empty_cells() -> None:
    held = showers("25x25x25")
    assert len(held) == EVENTS
    dense = held.dense(0, EVENTS)
    # at the fixed angle cells have no power
    np.testing.assert_allclose(dense.sum((1, 2, 3)), held.labels[:, 2], rtol=1e-5)
    assert len(held.values) == np.count_nonzero(dense) < 0.1 * dense.size
    np.testing.assert_array_equal(held.dense(5, 7), dense[5:7])


@pytest.mark.parametrize("geometry", ["25x25x25", "51x51x25"])
def test_a_batch_is_made_dense_in_the_graph(geometry: architecture.Geometry) -> None:
    recipe, held = Recipe(parse({**SMALL, "geometry": geometry})), showers(geometry)
    images, labels = recipe.rows(recipe.columns(held), tf.constant([6, 0, 3, 3]))
    np.testing.assert_array_equal(images[..., 0], held.dense(0, EVENTS)[[6, 0, 3, 3]])
    np.testing.assert_array_equal(labels, held.labels[[6, 0, 3, 3]])


def test_heads_say_what_the_observables_say() -> None:
    held = showers("51x51x25")
    images = held.dense(0, EVENTS)[..., None]
    cells = heads.cells(tf.constant(images), losses.POWERS["51x51x25"])
    np.testing.assert_allclose(heads.energy(cells), held.labels[:, 2], rtol=1e-5)
    np.testing.assert_allclose(heads.angle(cells), measured_angle(cells.numpy()[..., 0]), atol=2e-5)
    assert heads.angle(tf.zeros([1, 5, 5, 5, 1])).numpy().tolist() == [heads.EMPTY_ANGLE]


def test_gradients_of_the_heads_are_finite_where_cells_are_empty() -> None:
    image = tf.Variable(showers("51x51x25").dense(0, 2)[..., None])
    with tf.GradientTape() as tape:
        cells = heads.cells(image, 0.85)
        loss = tf.reduce_sum(heads.energy(cells)) + tf.reduce_sum(heads.angle(cells))
    assert np.isfinite(tape.gradient(loss, image)).all()


def test_losses_by_hand() -> None:
    image = np.zeros([2, 3, 3, 3, 1], np.float32)
    image[0, 1, 1, 1, 0], image[1, 1, 1, :, 0] = 4, 2
    labels = tf.constant([[1.0, 0.5, 5.0], [2.0, 1.5, 6.0]])
    found = losses.terms(
        tf.constant([[0.0, 1.5], [2.0, 1.0]]),
        tf.constant(image),
        labels,
        tf.constant([1.0, 0.0]),
        1.0,
    ).numpy()
    np.testing.assert_allclose(found[:, 0], [np.log(2), np.log1p(np.exp(2))], rtol=1e-6)
    np.testing.assert_allclose(found[:, 1], [50, 50], rtol=1e-6)
    np.testing.assert_allclose(found[:, 2], np.abs([0.5 - np.pi / 2, 1.5 - np.pi / 2]), rtol=1e-5)
    np.testing.assert_allclose(found[:, 3], [20, 0], atol=1e-5)


@pytest.fixture(scope="module")
def two_steps() -> tuple[Stepper, dict[str, Any], Any]:
    """A stepper that took two steps in one call, its arrays before, and what it reported."""
    made = stepper()
    before = made.nets.arrays()
    taken = made.run(philox.order(0, 1, EVENTS), 0, 0, 2)
    return made, before, taken


def test_a_step_trains_both_networks_and_reports_all_phases(
    two_steps: tuple[Stepper, dict[str, Any], Any],
) -> None:
    made, before, taken = two_steps
    after = made.nets.arrays()
    assert_both_trained(taken, before, after)
    assert (taken.g_gradient > 0).all()
    assert (taken.d_gradient > 0).all()
    assert all((taken.terms[name] > 0).all() for name in made.recipe.terms)
    assert (
        int(after["g_optimizer/rmsprop/iteration"])
        == int(after["d_optimizer/rmsprop/iteration"])
        == 4
    )


@pytest.mark.thorough
def test_steps_in_one_call_equal_steps_in_several(
    two_steps: tuple[Stepper, dict[str, Any], Any],
) -> None:
    together, apart = two_steps[0], stepper()
    order = philox.order(0, 1, EVENTS)
    apart.run(order, 0, 0, 1)
    apart.run(order, 1, 1, 1)
    for name, value in together.nets.arrays().items():
        np.testing.assert_array_equal(value, apart.nets.arrays()[name])


def test_a_curriculum_widens_the_energies_to_all() -> None:
    data = showers("25x25x25")
    recipe = stepper(curriculum=0.5, epochs=10).recipe
    recipe.columns(data)
    away = np.abs(data.labels[:, 0] - np.median(data.labels[:, 0]))
    order = philox.order(0, 1, len(data))
    kinds = []
    for epoch in (1, 3, 5):
        seen = recipe.curriculum(epoch, order)
        assert len(seen) == len(order)
        kinds.append(len(set(seen.tolist())))
        assert away[seen].max() <= np.sort(away)[kinds[-1] - 1]
    assert kinds[0] < kinds[1] < kinds[2]
    np.testing.assert_array_equal(recipe.curriculum(6, order), order)
    np.testing.assert_array_equal(stepper().recipe.curriculum(1, order), order)


@pytest.mark.parametrize("recompute", [False, True])
def test_gradients_are_those_of_the_losses_on_paper(
    recompute: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each phase beside plain calls of the models."""
    monkeypatch.setitem(TOGETHER, "25x25x25", 2)  # as at 51x51x25, which takes longer
    made = stepper(
        recompute=recompute, optimizer="sgd", beta_1=0, d_learning_rate=1e-9, g_learning_rate=1e-9
    )
    recipe, nets = made.recipe, made.nets
    images, labels = recipe.rows(recipe.columns(showers("25x25x25")), tf.range(4))
    for phase in recipe.phases[:3]:
        draws = recipe.draws(phase, [images, labels], tf.constant(0, tf.int64), tf.constant(0))
        found = recipe.shares(
            nets.generator,
            nets.discriminator,
            made.replica.state(),
            draws,
            [tf.ones([])] * 2,
            phase,
        )
        net = nets.generator if phase.g else nets.discriminator
        kept = [
            v.numpy()
            for part in (nets.generator, nets.discriminator)
            for v in part.non_trainable_variables
        ]
        with tf.GradientTape() as tape:
            latents = networks.latents(made.config, draws.noise, labels)
            image = images if phase.kind == "real" else nets.generator(latents, training=phase.g)
            opinions = nets.discriminator([image, *draws.masks], training=True)
            turned = (
                draws.flips < losses.FLIPPED if phase.d else tf.zeros_like(draws.flips, tf.bool)
            )
            target = (
                tf.where(turned, 1.0, 0.0) if phase.kind == "fake" else tf.where(turned, 0.0, 1.0)
            )
            parts = losses.terms(opinions, image, labels, target, 1.0)
            loss = tf.reduce_mean(tf.reduce_sum(parts * [6.0, 0.2, 0.0, 0.1], 1))
        wanted = tape.gradient(loss, [v.value for v in net.trainable_variables])
        for part, value in zip(
            [v for n in (nets.generator, nets.discriminator) for v in n.non_trainable_variables],
            kept,
            strict=True,
        ):
            part.assign(value)
        ours = found.g_gradients if phase.g else found.d_gradients
        assert not (found.d_gradients if phase.g else found.g_gradients)
        for a, b in zip(ours, wanted, strict=True):
            np.testing.assert_allclose(a, b, atol=2e-4 * float(np.abs(b).max()) + 1e-7)
        logged = dict(zip(("g_loss", "d_loss"), found.metrics.numpy()[:2], strict=True))
        assert logged["g_loss" if phase.g else "d_loss"] == pytest.approx(float(loss) / 2, rel=1e-5)


@pytest.mark.thorough
def test_one_label_in_twenty_is_turned() -> None:
    recipe = Recipe(parse({**SMALL, "batch_size": 1000}))
    recipe.shape = (1, 1, 1, 1)
    draws = [
        recipe.draws(
            recipe.phases[0], recipe.example(1), tf.constant(i, tf.int64), tf.constant(0)
        ).flips.numpy()
        for i in (0, 1)
    ]
    shares = [float((flips < losses.FLIPPED).mean()) for flips in draws]
    assert all(0.02 < share < 0.08 for share in shares)
    assert not np.array_equal(*draws)
