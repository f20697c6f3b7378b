"""Frames by tiles through real networks on one device; several are in
tests/integration/test_tiled_replicas.py."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf

from ganboard.gan.checkpoint import store
from ganboard.gan.checkpoint.reader import CheckpointError
from ganboard.gan.config import parse
from ganboard.gan.models.pix2pix import architecture, networks
from ganboard.gan.models.pix2pix.prediction import inference
from ganboard.gan.models.pix2pix.prediction.tiles import TilingError, merge, split, whole
from ganboard.gan.progress import Progress

CONFIG = parse(
    {"model": "pix2pix", "dataset": "flow", "images_path": "street", "geometry": "64x64"}
)
FRAME = np.random.default_rng(0).normal(size=(128, 192, 4)).astype(np.float32)


@pytest.fixture(scope="module")
def strategy() -> tf.distribute.Strategy:
    return tf.distribute.MirroredStrategy(["/cpu:0"])


@pytest.fixture(scope="module")
def generator(strategy: tf.distribute.Strategy) -> keras.Model:
    with strategy.scope():
        return networks.generator(CONFIG, 4, 3)


@pytest.fixture
def tiled(generator: keras.Model, strategy: tf.distribute.Strategy) -> Any:
    return lambda **options: inference.Tiled(generator, strategy, **options)


def plain(generator: keras.Model, tile: np.ndarray) -> np.ndarray:
    """A tile through the network as the networks' own tests call it."""
    made: np.ndarray = generator(
        [tile[None], *[None] * len(architecture.masks(CONFIG))], training=False
    ).numpy()[0]
    return made


@pytest.mark.thorough
@pytest.mark.parametrize("options", [{"group": 1}, {"group": 4}, {"group": 99}, {"xla": True}])
def test_how_tiles_are_grouped_changes_nothing(
    tiled: Any, generator: keras.Model, options: dict[str, Any]
) -> None:
    made = tiled(**options)(FRAME)
    assert made.shape == (128, 192, 3)
    for y in (0, 64):
        for x in (0, 64, 128):
            np.testing.assert_allclose(
                made[y : y + 64, x : x + 64],
                plain(generator, FRAME[y : y + 64, x : x + 64]),
                atol=1e-5,
            )


@pytest.mark.thorough
def test_with_a_halo_a_tile_sees_its_neighbours(tiled: Any, generator: keras.Model) -> None:
    made = tiled(halo=16)(FRAME)
    tiles = np.stack([plain(generator, tile) for tile in split(FRAME, (32, 32), 16)])
    np.testing.assert_allclose(
        made, merge(tiles, FRAME.shape[:2], (32, 32), 16, blend=16), atol=1e-5
    )
    assert np.abs(made - tiled()(FRAME)).max() > 1e-3
    grouped = tiled(halo=16, group=5)(FRAME)  # 24 tiles, the last group of which is filled
    np.testing.assert_allclose(grouped, made, atol=1e-5)


def test_what_is_compiled_is_one_graph_for_each_shape_of_a_group(tiled: Any) -> None:
    alone, grouped = tiled(group=1), tiled()
    for frame in (FRAME, FRAME[:64], FRAME):
        alone(frame)
        grouped(frame)
    assert alone.compiled == 1
    assert grouped.compiled == 2
    assert len(grouped.times) == 3
    assert all(seconds > 0 for times in grouped.times for seconds in times)


def test_frames_that_do_not_divide_and_halos_that_are_too_wide(tiled: Any) -> None:
    with pytest.raises(
        TilingError,
        match=(
            "64x64 pixels with halo=0 does not tile a frame of 100x192: take frames whose sides are"
            " multiples of 64"
        ),
    ):
        tiled()(FRAME[:100])
    with pytest.raises(
        TilingError, match="halo=24 does not tile a frame of 128x192: choose a halo of 0 or 16"
    ):
        tiled(halo=24)(FRAME)


@pytest.mark.thorough
@pytest.mark.parametrize(("part", "ema"), [("generator", 0.0), ("average", 0.9)])
def test_the_generator_is_that_of_the_checkpoint(
    tmp_path: Path, strategy: tf.distribute.Strategy, generator: keras.Model, part: str, ema: float
) -> None:
    arrays = {f"{part}/{variable.path}": variable.numpy() for variable in generator.variables}
    store.save(tmp_path, arrays, Progress(7, 1), digest="", attempt=1)
    config = CONFIG.model_copy(update={"ema": ema, "seed": 5, "replicas": 2, "batch_size": 2})
    found = inference.restore(config, tmp_path, 7, strategy)
    np.testing.assert_array_equal(plain(found, FRAME[:64, :64]), plain(generator, FRAME[:64, :64]))
    with pytest.raises(CheckpointError, match="The checkpoint of step 8 no longer exists"):
        inference.restore(config, tmp_path, 8, strategy)


COMPACT = CONFIG.model_copy(update={"network": "compact", "width": 4, "predict": "change"})


@pytest.mark.parametrize(
    ("network", "frame", "halo", "in_one_piece"),
    [
        ("compact", (64, 128), 0, True),
        ("compact", (66, 128), 0, False),
        ("compact", (64, 128), 16, False),
        ("published", (64, 128), 0, False),
    ],
)
def test_a_compact_network_takes_frames_in_one_piece_unless_a_halo_is_asked_for(
    network: str, frame: tuple[int, int], halo: int, in_one_piece: bool
) -> None:
    config = CONFIG.model_copy(update={"network": network})
    assert whole(config, frame, halo) == in_one_piece


def test_in_one_piece_there_is_no_seam(tmp_path: Path, strategy: tf.distribute.Strategy) -> None:
    with strategy.scope():
        generator = networks.generator(COMPACT, 4, 3)
    arrays = {f"generator/{variable.path}": variable.numpy() for variable in generator.variables}
    store.save(tmp_path, arrays, Progress(7, 1), digest="", attempt=1)
    frame = FRAME[:64, :128]
    wide = inference.restore(COMPACT, tmp_path, 7, strategy, (64, 128))
    made = inference.Tiled(wide, strategy)(frame)
    halves = inference.Tiled(generator, strategy)(frame)
    assert made.shape == (64, 128, 3)
    # what lies further from the seam than a pixel sees is the same
    np.testing.assert_allclose(made[:, :16], halves[:, :16], atol=1e-5)
    np.testing.assert_allclose(made[:, -16:], halves[:, -16:], atol=1e-5)
    assert np.abs(made - halves)[:, 60:68].max() > 1e-4
