"""Training steps of pix2pix on computed flows, against plain calls of its networks, and whole
trainings from a folder."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from ganboard.gan.config import ConfigError, RunConfig, parse
from ganboard.gan.data import DatasetError, catalog, load
from ganboard.gan.data.digest import digest
from ganboard.gan.events import REAL_IMAGES, Grid, Started
from ganboard.gan.generation import generation
from ganboard.gan.models.pix2pix import losses, networks, rendering, source
from ganboard.gan.models.pix2pix.flow import examples, frames
from ganboard.gan.models.pix2pix.flow.obstacle import Obstacle
from ganboard.gan.models.pix2pix.flow.recording import Case, Recording
from ganboard.gan.models.pix2pix.recipe import Recipe
from ganboard.gan.rng import philox
from ganboard.gan.training.step import Stepper
from ganboard.gan.training.step import networks as made_networks
from tests.recorder import assert_resumes
from tests.unit.gan.models.trained import assert_both_trained

SMALL = {
    "model": "pix2pix", "dataset": "flow", "images_path": "street", "geometry": "64x64", "limit": 4,
    "batch_size": 2, "epochs": 1, "grid_size": 2, "keep_checkpoints": 1, "snapshots": 1,
}  # fmt: skip
FLOWS = (
    Case(Obstacle("circle", 6), 80),
    Case(Obstacle("rectangle", 6), 60),
    Case(Obstacle("circle", 8), 100, held_out=True),
)


def config(**changes: Any) -> RunConfig:
    return parse({**SMALL, **changes})


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data directory with five frames of each flow, 72x66 cells."""
    folder = tmp_path_factory.mktemp("data")
    frames.write(folder / "street", Recording(FLOWS, (72, 66), frames=5, discard=300, every=20))
    return folder


def stepper(home: Path, **changes: Any) -> Stepper:
    settings = config(
        **{
            "optimizer": "sgd",
            "beta_1": 0,
            "g_learning_rate": 1e-3,
            "d_learning_rate": 1e-3,
            **changes,
        }
    )
    return Stepper(
        settings, tf.distribute.get_strategy(), made_networks(settings), load(settings, home)
    )


def test_pairs_are_neighbours_of_flows_that_are_not_held_out(home: Path) -> None:
    held = load(config(limit=None), home)
    assert len(held) == catalog.count(config(), home) == 2 * 4
    stored = frames.Frames(home / "street").pairs("train")
    for index in range(len(held)):
        before, after = stored[index]
        np.testing.assert_array_equal(
            held.frames[held.at[index]], before[..., :3].astype(np.float16)
        )
        np.testing.assert_array_equal(held.masks[held.sequence[index]], before[..., 3])
        np.testing.assert_array_equal(held.frames[held.at[index] + 1], after.astype(np.float16))
    few = held.first(3)
    # evenly over the flows: 0, 3.5 rounded to even, 7
    assert few.at.tolist() == [held.at[0], held.at[4], held.at[7]]


def test_a_window_is_a_place_of_the_frame_mirrored_or_not(home: Path) -> None:
    recipe, held = Recipe(config(batch_size=4)), load(config(), home)
    rows = recipe.rows(recipe.columns(held), tf.range(4))
    draws = [
        recipe.draws(recipe.phases[0], rows, tf.constant(step, tf.int64), tf.constant(0))
        for step in range(4)
    ]
    whole = rows[0].numpy()
    mirrored = whole[:, ::-1] * np.float32([1, -1, -1, 1, 1, -1, -1])
    kinds = set()
    for drawn in draws:
        seen = np.concatenate([drawn.before, drawn.after], -1)
        assert seen.shape == (4, 64, 64, 7)
        for i in range(4):
            places = [
                (kind, y, x)
                for kind, frame in enumerate((whole[i], mirrored[i]))
                for y in range(66 - 63)
                for x in range(72 - 63)
                if np.array_equal(frame[y : y + 64, x : x + 64], seen[i])
            ]
            assert places
            kinds |= {kind for kind, _, _ in places}
    assert kinds == {0, 1}


def test_a_step_trains_both_networks_and_reports_the_distance(home: Path) -> None:
    made = stepper(home)
    before = made.nets.arrays()
    taken = made.run(philox.order(0, 1, 4), 0, 0, 2)
    assert_both_trained(taken, before, made.nets.arrays())
    assert (taken.terms["g_l1"] > 0).all()
    assert (taken.terms["g_l1"] * config().l1_weight < taken.g_loss).all()


def test_the_gradients_are_those_of_the_losses_on_paper(home: Path) -> None:
    made = stepper(home)
    recipe, nets = made.recipe, made.nets
    rows = recipe.rows(recipe.columns(load(config(), home)), tf.range(2))
    draws = recipe.draws(recipe.phases[0], rows, tf.constant(0, tf.int64), tf.constant(0))
    found = recipe.shares(
        nets.generator,
        nets.discriminator,
        made.replica.state(),
        draws,
        [tf.ones([])] * 2,
        recipe.phases[0],
    )
    with tf.GradientTape(persistent=True) as tape:
        fake = nets.generator([draws.before, *draws.masks], training=True)
        real_logits, fake_logits = (
            nets.discriminator([draws.before, after], training=True)
            for after in (draws.after, fake)
        )
        entropy = tf.nn.sigmoid_cross_entropy_with_logits
        terms = (
            tf.reduce_mean(entropy(tf.ones_like(fake_logits), fake_logits)),
            tf.reduce_mean(tf.abs(draws.after - fake)),
        )
        g_loss = terms[0] + 100 * terms[1]
        d_loss = (
            tf.reduce_mean(
                entropy(tf.ones_like(real_logits), real_logits)
                + entropy(tf.zeros_like(fake_logits), fake_logits)
            )
            / 2
        )
    np.testing.assert_allclose(
        found.metrics.numpy()[[0, 1, 4]], [g_loss, d_loss, terms[1]], rtol=1e-5
    )
    for net, loss, ours in (
        (nets.generator, g_loss, found.g_gradients),
        (nets.discriminator, d_loss, found.d_gradients),
    ):
        wanted = tape.gradient(loss, [v.value for v in net.trainable_variables])
        for a, b in zip(ours, wanted, strict=True):
            np.testing.assert_allclose(a, b, atol=2e-4 * float(np.abs(b).max()) + 1e-7)
    statistics = [
        v.numpy()
        for net in (nets.generator, nets.discriminator)
        for v in net.non_trainable_variables
    ]
    for a, b in zip([*found.statistics[0], *found.statistics[1]], statistics, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-7)


def test_pictures_show_the_sense_of_rotation() -> None:
    turning = np.zeros([1, 1, 3, 4], np.float32)
    turning[0, 0, :, 2] = -1, 0, 5
    assert rendering.vorticity(turning)[0, 0].tolist() == [[-1, -1, 1], [1, 1, 1], [1, -1, -1]]


@pytest.mark.slow
@pytest.mark.thorough
def test_a_training_stopped_in_the_middle_ends_as_one_that_was_not(
    home: Path, tmp_path: Path
) -> None:
    for name in ("whole", "parts"):
        shutil.copytree(home, tmp_path / name)
    whole = assert_resumes(config(), tmp_path)
    assert [grid.epoch for grid in whole.of(Grid)] == [REAL_IMAGES, 0, 1]
    assert (
        whole.of(Started)[0].d_parameters == networks.discriminator(config(), 4, 3).count_params()
    )


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        (
            {"dataset": "mnist", "images_path": ""},
            "model=pix2pix does not learn from dataset=mnist: choose one of vortex_street, flow.",
        ),
        (
            {"geometry": "25x25x25"},
            (
                "geometry=25x25x25 is not allowed: it must be one of '64x64', '128x128' or"
                " '256x256' (default 64x64)."
            ),
        ),
        (
            {"model": "gan3d", "dataset": "showers", "images_path": ""},
            (
                "geometry=64x64 is not allowed: it must be one of '25x25x25' or '51x51x25'"
                " (default 25x25x25)."
            ),
        ),
        (
            {"images_path": ""},
            (
                "dataset=flow needs images_path: the folder inside the data directory that"
                " `ganboard data flow` has written."
            ),
        ),
        ({"recompute": True}, "recompute=True has no meaning for model=pix2pix: leave it out."),
    ],
)
def test_settings_that_do_not_go_together(changes: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ConfigError) as caught:
        config(**changes)
    assert str(caught.value) == sentence


def test_frames_that_are_too_small_absent_or_foreign(home: Path, tmp_path: Path) -> None:
    with pytest.raises(
        DatasetError,
        match=(
            "holds frames of 72x66 cells and geometry=128x128 cuts squares of 128: choose a smaller"
            " geometry"
        ),
    ):
        catalog.check(config(geometry="128x128"), home)
    with pytest.raises(DatasetError, match=r"there is no such folder\): name a folder inside"):
        catalog.check(config(images_path="elsewhere"), home)
    (tmp_path / "street").mkdir()
    with pytest.raises(DatasetError, match=r"manifest\.json"):
        catalog.check(config(), tmp_path)
    assert "Create one with `ganboard data flow`" in str(
        catalog.available(tmp_path / "nowhere")["flow"]
    )
    assert catalog.available(home)["flow"] is None


def test_the_street_is_computed_once_and_known_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = config(dataset="vortex_street", images_path="", limit=3)
    catalog.check(asked, tmp_path)
    assert catalog.count(asked, tmp_path) == 8 * 200
    assert not any(tmp_path.iterdir())
    with pytest.raises(
        DatasetError,
        match=(
            r"dataset=vortex_street has frames of 128x64 cells and geometry=128x128 cuts squares of"
            r" 128: choose"
        ),
    ):
        catalog.check(config(dataset="vortex_street", images_path="", geometry="128x128"), tmp_path)
    monkeypatch.setattr(
        source, "STREET", Recording(FLOWS, (72, 66), frames=3, discard=50, every=20)
    )
    assert digest(asked, tmp_path) is None
    assert len(load(asked, tmp_path)) == 3
    assert len(digest(asked, tmp_path) or "") == 64
    # versions of it are compared on the same flows
    assert generation.of(asked).examples(tmp_path).shape[1:] == (64, 64, 4)
    made = (tmp_path / source.FOLDER / "manifest.json").stat().st_mtime_ns
    load(asked, tmp_path)
    assert (tmp_path / source.FOLDER / "manifest.json").stat().st_mtime_ns == made
    catalog.check(asked, tmp_path)
    monkeypatch.setattr(
        source, "STREET", Recording(FLOWS[1:], (72, 66), frames=3, discard=50, every=20)
    )
    with pytest.raises(
        DatasetError,
        match=(
            r"vortex-street holds flows other than those of dataset=vortex_street: give that folder"
            r" another name"
        ),
    ):
        catalog.check(asked, tmp_path)


def test_examples_are_held_once(home: Path) -> None:
    held = examples.Examples(
        *(
            np.zeros([4, 2, 2, 3], np.float16),
            np.zeros([1, 2, 2], np.float16),
            np.arange(3, dtype=np.int32),
            np.zeros(3, np.int32),
        ),
        frames.Frames(home / "street"),
    )
    assert held.first(2).frames is held.frames
    assert held.first(None) is held.first(5) is held


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
    nets, recipe = made.nets, made.recipe
    found = recipe.shares(
        nets.generator,
        nets.discriminator,
        made.replica.state(),
        draws,
        [tf.ones([])] * 2,
        recipe.phases[0],
    )
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
    [({"l1_weight": 0.0}, (1, 0)), ({"adversarial_weight": 0.0, "l1_weight": 10.0}, (0, 10))],
)
def test_the_loss_of_g_has_the_weights_of_the_configuration(
    weights: dict[str, float], factors: tuple[float, float]
) -> None:
    logits, made, target = tf.zeros([1, 2, 2, 1]), tf.zeros([1, 2, 2, 3]), tf.ones([1, 2, 2, 3])
    found = losses.generator(config(**weights), logits, made, target)
    np.testing.assert_allclose(found, [factors[0] * np.log(2) + factors[1]], rtol=1e-6)


@pytest.mark.slow
@pytest.mark.thorough
def test_with_noise_and_pushforward_a_stopped_training_ends_as_one_that_was_not(
    home: Path, tmp_path: Path
) -> None:
    for name in ("whole", "parts"):
        shutil.copytree(home, tmp_path / name)
    assert_resumes(config(**ROBUST), tmp_path)
