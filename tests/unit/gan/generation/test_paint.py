"""A stored generator draws what the run's own grid shows."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ganboard.gan import presets
from ganboard.gan.checkpoint.reader import CheckpointError
from ganboard.gan.config import RunConfig
from ganboard.gan.generation import paint
from ganboard.gan.generation.latent_requests import Draw, InvalidRequest, Nearest
from ganboard.gan.modeling import samples
from ganboard.gan.models.gan3d import generation, losses, rendering
from tests import registered
from tests.stored import store


def config(**changes: Any) -> RunConfig:
    return presets.load("tiny", changes)


@pytest.mark.parametrize(
    "changes",
    [
        {"seed": 5},
        {"ema": 0.9},
        {"precision": "mixed_bfloat16"},
        {"replicas": 2},
        {"table1_literal": True, "generator_batch_norm": False},
    ],
    ids=str,
)
def test_the_grid_of_the_run_comes_back(tmp_path: Path, changes: dict[str, Any]) -> None:
    settings = config(**changes)
    nets = store(settings, tmp_path)
    wanted = samples.grid(settings, nets.eval_generator)
    generator = paint.restore(settings, tmp_path, 12)
    request = Draw(seed=settings.seed, images=settings.grid_size**2)
    pictures = paint.images(
        generator, request.points(partial(paint.normal, width=settings.latent_dim))
    )
    # a graph rounds bfloat16 as eager execution does only where the processor has it
    unit = 2**-7 if settings.precision == "mixed_bfloat16" else 0
    np.testing.assert_allclose(pictures, wanted, rtol=0, atol=unit)


def test_another_seed_draws_something_else(tmp_path: Path) -> None:
    store(config(), tmp_path)
    generator = paint.restore(config(), tmp_path, 12)
    one, same, other = (
        paint.images(generator, paint.normal(seed, 0, 4, 100)) for seed in (1, 1, 2)
    )
    np.testing.assert_array_equal(one, same)
    assert not np.array_equal(one, other)
    assert one.shape == (4, 28, 28, 1)
    np.testing.assert_array_equal(paint.normal(1, 2, 2, 100), paint.normal(1, 0, 4, 100)[2:])


@pytest.mark.parametrize(
    "geometry", [pytest.param("51x51x25", marks=pytest.mark.thorough), "25x25x25"]
)
def test_showers_of_the_particle_that_is_asked_for(tmp_path: Path, geometry: str) -> None:
    settings = registered.config(registered.GAN3D | {"geometry": geometry})
    nets = store(settings, tmp_path)
    generator = paint.restore(settings, tmp_path, 12)
    pictures = paint.draw(generator, settings, Draw(seed=3, images=9, energy=200))
    side = int(geometry[:2])
    assert pictures.shape == (9, side, side, 1)
    made = generation.Generation(settings).inputs(generation.Request(energies=[200.0] * 9, seed=3))
    wanted = rendering.side(
        nets.generator(made[:8], training=False).numpy()[..., 0], losses.POWERS[settings.geometry]
    )
    first = (side - 25) // 2
    np.testing.assert_allclose(pictures[:8, :, first : first + 25], wanted, atol=1e-5)
    assert (
        np.abs(pictures - paint.draw(generator, settings, Draw(seed=3, images=9, energy=20))).max()
        > 0.01
    )
    with pytest.raises(
        InvalidRequest,
        match=r"^Training images are compared with images, and model=gan3d makes showers",
    ):
        paint.draw(generator, settings, Nearest(seed=3, picks=[0]))
    if geometry == "25x25x25":
        with pytest.raises(
            InvalidRequest,
            match=(
                r"^angle has no meaning for geometry=25x25x25, whose angle is 90 degrees: leave it"
                r" out.$"
            ),
        ):
            paint.draw(generator, settings, Draw(seed=3, images=1, angle=80))


def test_what_has_no_latents_or_no_particles_is_said_so(tmp_path: Path) -> None:
    with pytest.raises(
        CheckpointError, match=r"^model=pix2pix has no latent space. Use the Prediction tab"
    ):
        paint.restore(registered.config(registered.PIX2PIX), tmp_path, 12)
    store(config(), tmp_path)
    with pytest.raises(
        InvalidRequest, match=r"^energy and angle only apply to showers. Remove them.$"
    ):
        paint.draw(
            paint.restore(config(), tmp_path, 12), config(), Draw(seed=1, images=1, energy=100)
        )


def test_the_newest_attempt_of_a_step_counts(tmp_path: Path) -> None:
    store(config(seed=1), tmp_path, attempt=1)
    nets = store(config(seed=2), tmp_path, attempt=2)
    found = paint.restore(config(), tmp_path, 12)
    np.testing.assert_array_equal(found.variables[0].numpy(), nets.generator.variables[0].numpy())


def test_a_checkpoint_that_is_gone_damaged_or_foreign_is_said_so_and_left_alone(
    tmp_path: Path,
) -> None:
    store(config(), tmp_path)
    with pytest.raises(
        CheckpointError, match=r"^The checkpoint of step 13 no longer exists.*keep_checkpoints"
    ):
        paint.restore(config(), tmp_path, 13)
    with pytest.raises(CheckpointError, match=r"^The checkpoint of step 12 no longer exists"):
        paint.restore(config(), tmp_path / "nowhere", 12)
    with pytest.raises(
        CheckpointError,
        match=r"^The checkpoint of step 12 does not match the generator of this version in ",
    ):
        paint.restore(config(latent_dim=7), tmp_path, 12)
    with pytest.raises(CheckpointError, match="does not match"):
        paint.restore(config(ema=0.9), tmp_path, 12)  # has no average
    state, manifest = tmp_path / "ckpt-12-1" / "state.npz", tmp_path / "ckpt-12-1" / "manifest.json"
    state.write_bytes(state.read_bytes()[:-1000])
    with pytest.raises(CheckpointError, match=r"^The checkpoint of step 12 is damaged"):
        paint.restore(config(), tmp_path, 12)
    for text in ("{", "[]", "{}", '{"files": {"state.npz": 3}}'):
        manifest.write_text(text)
        with pytest.raises(CheckpointError, match=r"^The checkpoint of step 12 cannot be read"):
            paint.restore(config(), tmp_path, 12)
    assert [path.name for path in tmp_path.iterdir()] == ["ckpt-12-1"]
