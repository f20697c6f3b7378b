"""Training steps of pix2pix on computed flows, against plain calls of its networks, and whole
trainings from a folder."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from ganboard.gan.config import ConfigError
from ganboard.gan.data import DatasetError, catalog, load
from ganboard.gan.data.digest import digest
from ganboard.gan.events import REAL_IMAGES, Grid, Started
from ganboard.gan.generation import generation
from ganboard.gan.models.pix2pix import networks, rendering, source
from ganboard.gan.models.pix2pix.flow import examples, frames
from ganboard.gan.models.pix2pix.flow.recording import Recording
from ganboard.gan.models.pix2pix.recipe import Recipe
from ganboard.gan.rng import philox
from tests.recorder import assert_resumes
from tests.unit.gan.models.pix2pix.steps import FLOWS, config, gradients, stepper
from tests.unit.gan.models.trained import assert_both_trained


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
    found = gradients(made, draws)
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
        (
            {"padding": "edge"},
            (
                "padding=edge is for the compact network: set network to compact, or padding to"
                " zeros, as published."
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
    small = Recording(FLOWS, (72, 66), frames=3, discard=50, every=20)
    monkeypatch.setattr(source, "street", lambda side: small)
    assert digest(asked, tmp_path) is None
    assert len(load(asked, tmp_path)) == 3
    assert len(digest(asked, tmp_path) or "") == 64
    # versions of it are compared on the same flows
    assert generation.of(asked).examples(tmp_path).shape[1:] == (64, 64, 4)
    made = (tmp_path / source.FOLDER / "manifest.json").stat().st_mtime_ns
    load(asked, tmp_path)
    assert (tmp_path / source.FOLDER / "manifest.json").stat().st_mtime_ns == made
    catalog.check(asked, tmp_path)
    other = Recording(FLOWS[1:], (72, 66), frames=3, discard=50, every=20)
    monkeypatch.setattr(source, "street", lambda side: other)
    with pytest.raises(
        DatasetError,
        match=(
            r"vortex-street holds flows other than those of dataset=vortex_street: give that folder"
            r" another name"
        ),
    ):
        catalog.check(asked, tmp_path)


@pytest.mark.parametrize(("side", "pairs"), [(64, 1600), (128, 1600), (256, 400)])
def test_finer_grids_have_the_same_streets_at_the_same_times(
    tmp_path: Path, side: int, pairs: int
) -> None:
    asked = config(dataset="vortex_street", images_path="", geometry=f"{side}x{side}", limit=None)
    catalog.check(asked, tmp_path)
    assert catalog.count(asked, tmp_path) == pairs
    coarse, fine = source.street(64), source.street(side)
    assert fine.grid == (2 * side, side)
    for recording in (coarse, fine):
        recording.check()
        case = recording.cases[0]
        assert recording.grid[0] / case.obstacle.diameter == pytest.approx(128 / 6)
        assert recording.every / case.obstacle.diameter == pytest.approx(20 / 6)
        assert {case.reynolds for case in recording.cases if case.held_out} >= {90.0}


def test_windows_of_a_channel_are_as_high_as_its_frames(home: Path) -> None:
    asked = config(network="compact", padding="channel")
    with pytest.raises(DatasetError, match="frames of 72x66 where geometry=64x64 is 64 high: set"):
        catalog.check(asked, home)


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
