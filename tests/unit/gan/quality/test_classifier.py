from __future__ import annotations

import os
import random
from collections.abc import Callable
from pathlib import Path

import keras
import numpy as np
import pytest
import tensorflow as tf

from ganboard.gan import data
from ganboard.gan.data import digits
from ganboard.gan.data.dataset import Dataset
from ganboard.gan.models.dcgan.config import Config
from ganboard.gan.quality import classifier
from ganboard.gan.quality.classifier import FEATURES, Classifier, obtain, order

DIGITS = digits.load(None)


def silent(share: float) -> None:
    pass


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """A training of a few steps, for tests that need no good classifier."""
    monkeypatch.setattr(classifier, "_STEPS", 5)


def features(found: Classifier, count: int = 40) -> bytes:
    return found(DIGITS.images[:count])[0].tobytes()


@pytest.mark.thorough
def test_the_classifier_of_the_digits_knows_digits_it_never_saw(tmp_path: Path) -> None:
    heard: list[float] = []
    found = obtain("digits", DIGITS, tmp_path, heard.append)
    assert found.accuracy >= 0.95
    held_out = order(len(DIGITS.images))[: len(DIGITS.images) // 6]
    seen = found(DIGITS.images)
    assert seen[0].shape == (1797, FEATURES)
    assert seen[0].dtype == np.float32
    assert np.mean(seen[1][held_out] == DIGITS.labels[held_out]) == found.accuracy
    assert found.shares.tolist() == (np.bincount(seen[1]) / 1797).tolist()
    assert heard == sorted(heard)
    assert (heard[0], heard[-1]) == (0.0, 1.0)
    assert (seen[0].std(0) > 0.01).all(), "every feature distinguishes images"
    assert found.remarks == []


def test_a_kept_classifier_is_not_trained_again_and_has_the_same_bits(
    short: None, tmp_path: Path
) -> None:
    trained = obtain("digits", DIGITS, tmp_path, silent)
    kept = obtain("digits", DIGITS, tmp_path, lambda share: pytest.fail("it is trained again"))
    assert features(trained) == features(kept)
    assert (trained.accuracy, trained.shares.tobytes()) == (kept.accuracy, kept.shares.tobytes())


def test_training_is_a_function_of_the_data(short: None, tmp_path: Path) -> None:
    found = []
    for i in range(2):
        keras.utils.set_random_seed(i)
        found.append(features(obtain("digits", DIGITS, tmp_path / f"{i}", silent)))
    assert found[0] == found[1]


def test_an_image_has_the_same_features_whatever_comes_with_it(short: None, tmp_path: Path) -> None:
    found = obtain("digits", DIGITS, tmp_path, silent)
    assert features(found, 3) == features(found, 1200)[: 3 * FEATURES * 4]


@pytest.mark.parametrize(
    "other",
    [
        lambda: Dataset(DIGITS.images[:-1], DIGITS.labels[:-1], ""),  # type: ignore[index]
        lambda: Dataset(255 - DIGITS.images, DIGITS.labels, ""),
        lambda: Dataset(DIGITS.images, 9 - DIGITS.labels, ""),  # type: ignore[operator]
    ],
    ids=["fewer images", "other images", "other labels"],
)
def test_other_data_have_another_classifier(
    other: Callable[[], Dataset], short: None, tmp_path: Path
) -> None:
    obtain("digits", DIGITS, tmp_path, silent)
    obtain("digits", other(), tmp_path, silent)
    assert len(list(tmp_path.glob("digits-*.npz"))) == 2


def test_another_recipe_is_another_classifier(
    short: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    obtain("digits", DIGITS, tmp_path, silent)
    monkeypatch.setattr(classifier, "_RECIPE", classifier._RECIPE + 1)
    obtain("digits", DIGITS, tmp_path, silent)
    assert len(list(tmp_path.glob("digits-*.npz"))) == 2


def test_a_damaged_classifier_is_trained_again_with_a_sentence(short: None, tmp_path: Path) -> None:
    good = features(obtain("digits", DIGITS, tmp_path, silent))
    (path,) = tmp_path.glob("*.npz")
    path.write_bytes(path.read_bytes()[:-1000])
    found = obtain("digits", DIGITS, tmp_path, silent)
    assert features(found) == good
    assert "cannot be used and is recreated" in found.remarks[0]


def test_what_progress_raises_ends_the_training_and_keeps_nothing(
    short: None, tmp_path: Path
) -> None:
    def stop(share: float) -> None:
        raise InterruptedError

    with pytest.raises(InterruptedError):
        obtain("digits", DIGITS, tmp_path, stop)
    assert not list(tmp_path.glob("*.npz"))


def test_the_training_around_it_is_not_disturbed(short: None, tmp_path: Path) -> None:
    def drawn() -> list[object]:
        return [
            random.random(),
            np.random.random(),
            tf.random.normal([2]).numpy().tolist(),
            keras.random.normal([2]).numpy().tolist(),
        ]

    keras.utils.set_random_seed(3)
    wanted = drawn()
    before = keras.config.dtype_policy(), keras.layers.Dense(1).name, keras.optimizers.Adam().name
    keras.utils.set_random_seed(3)
    obtain("digits", DIGITS, tmp_path, silent)
    assert drawn() == wanted
    after = keras.config.dtype_policy(), keras.layers.Dense(1).name, keras.optimizers.Adam().name
    assert before[0] == after[0]
    assert (after[1], after[2]) == (follower(before[1]), follower(before[2])), (
        "no automatic name was used up"
    )


def follower(name: str) -> str:
    stem, _, number = name.rpartition("_")
    return f"{stem}_{int(number) + 1}" if stem else f"{name}_1"


def test_it_works_under_every_policy_and_stays_float32(short: None, tmp_path: Path) -> None:
    wanted = features(obtain("digits", DIGITS, tmp_path / "float32", silent))
    before = keras.config.dtype_policy()
    try:
        keras.config.set_dtype_policy("mixed_bfloat16")
        assert features(obtain("digits", DIGITS, tmp_path / "mixed", silent)) == wanted
    finally:
        keras.config.set_dtype_policy(before)


def test_a_strategys_scope_is_refused(tmp_path: Path) -> None:
    with (
        tf.distribute.OneDeviceStrategy("/CPU:0").scope(),
        pytest.raises(AssertionError, match="outside the strategy"),
    ):
        obtain("digits", DIGITS, tmp_path, silent)


@pytest.mark.slow
@pytest.mark.thorough
def test_the_classifier_of_mnist_is_right_985_times_in_1000(tmp_path: Path) -> None:
    folder = Path(os.environ.get("GANBOARD_DATA_DIR", ""))
    if not (folder / "mnist.npz").is_file():
        pytest.skip("GANBOARD_DATA_DIR holds no mnist.npz")
    assert (
        obtain("mnist", data.load(Config(dataset="mnist"), folder), tmp_path, silent).accuracy
        >= 0.985
    )
