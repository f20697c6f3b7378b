"""Examples of a step: the same from memory and from the disk, in both loops."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from ganboard.gan.config import RunConfig, parse
from ganboard.gan.data import DatasetError, feed
from ganboard.gan.data.pictures.rows import Rows
from ganboard.gan.data.read_ahead import ReadAhead
from ganboard.gan.models.dcgan.recipe import Recipe
from ganboard.gan.rng import philox
from ganboard.gan.training import fit, runner
from ganboard.gan.training.step import Stepper, networks

IMAGES = np.random.default_rng(0).integers(0, 256, (24, 28, 28, 1), np.uint8)
LABELS = np.arange(24) % 5
CONFIG: RunConfig = parse({"dataset": "digits", "batch_size": 4, "latent_dim": 8})
ORDER = philox.order(CONFIG.seed, 1, len(IMAGES))


@pytest.fixture
def rows(tmp_path: Path) -> Rows:
    np.save(tmp_path / "x.npy", IMAGES)
    return Rows(tmp_path / "x.npy")


def test_small_sets_are_tensors_and_large_ones_stay_on_the_disk(rows: Rows) -> None:
    [held] = feed.columns(rows)
    np.testing.assert_array_equal(held, IMAGES)
    [held] = feed.columns(rows, memory=IMAGES.nbytes)
    assert isinstance(held, tf.Tensor)
    [stream] = feed.columns(rows, memory=IMAGES.nbytes - 1)
    assert isinstance(stream, ReadAhead)
    assert isinstance(feed.columns(IMAGES, memory=0)[0], tf.Tensor)


@pytest.mark.parametrize("memory", [0, 1 << 20])
def test_rows_of_a_loop_in_a_graph(rows: Rows, memory: int) -> None:
    columns = feed.columns(rows, LABELS, memory)

    @tf.function
    def taken(order: tf.Tensor) -> Any:
        images = tf.TensorArray(tf.uint8, 6, element_shape=[4, 28, 28, 1])
        labels = tf.TensorArray(tf.int32, 6, element_shape=[4])
        for i in tf.range(6):
            found = feed.rows(columns, order[i * 4 : i * 4 + 4], 4)
            images = images.write(i, found[0])
            labels = labels.write(i, found[1])
        return images.concat(), labels.concat()

    feed.expect(columns, ORDER, 0, 4)
    images, labels = taken(tf.constant(ORDER))
    np.testing.assert_array_equal(images, IMAGES[ORDER])
    np.testing.assert_array_equal(labels, LABELS[ORDER])
    assert labels.dtype == tf.int32


class OnDisk(Recipe):
    """DCGAN, whose pictures stay on the disk."""

    def columns(self, data: Any) -> list[Any]:
        return feed.columns(data, memory=0)

    def rows(self, columns: Any, batch: tf.Tensor) -> list[tf.Tensor]:
        return feed.rows(columns, batch, self.config.batch_size)


def losses(made: Stepper, loop: str) -> np.ndarray:
    steps: runner.Runner = fit.FitLoop(made, int) if loop == "fit" else runner.CustomLoop(made, int)
    rates = np.full([5, 2], 1e-3, np.float32)
    reports = list(steps.epoch(ORDER, 1, 1, rates))
    return np.concatenate([report.metrics.g_loss for report in reports])


@pytest.mark.parametrize("loop", ["custom", "fit"])
def test_training_is_the_same_to_the_bit(rows: Rows, loop: str) -> None:
    strategy = tf.distribute.get_strategy()
    in_memory = Stepper(CONFIG, strategy, networks(CONFIG), IMAGES)
    on_disk = Stepper(CONFIG, strategy, networks(CONFIG), rows, OnDisk(CONFIG))
    np.testing.assert_array_equal(losses(on_disk, loop), losses(in_memory, loop))


@pytest.mark.parametrize("loop", ["custom", "fit"])
def test_a_disk_that_fails_in_a_step_is_one_sentence(rows: Rows, loop: str) -> None:
    made = Stepper(CONFIG, tf.distribute.get_strategy(), networks(CONFIG), rows, OnDisk(CONFIG))
    with rows.path.open("r+b") as file:
        file.truncate(rows.offset)
    with pytest.raises(DatasetError, match=r"^\S+x.npy cannot be read \(.*\): check the disk\.$"):
        losses(made, loop)
