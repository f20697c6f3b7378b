from __future__ import annotations

from pathlib import Path

import keras
import numpy as np
import pytest
import tensorflow as tf

from ganboard.gan.data import digits
from ganboard.gan.quality import encoder, extract
from ganboard.gan.quality.encoder import obtain, rotated
from ganboard.gan.quality.metrics import compare, sample

DIGITS = digits.load(None).images
COLOURED = np.repeat(np.pad(DIGITS[:300], [(0, 0), (4, 4), (4, 4), (0, 0)]), 3, axis=3)


def silent(share: float) -> None:
    pass


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """A training of a few steps, for tests that need no good encoder."""
    monkeypatch.setattr(encoder, "_STEPS", 3)


def test_a_kept_encoder_is_not_trained_again_and_has_the_same_bits(
    short: None, tmp_path: Path
) -> None:
    heard: list[float] = []
    trained = obtain("images", COLOURED, tmp_path, heard.append)
    kept = obtain("images", COLOURED, tmp_path, lambda share: pytest.fail("it is trained again"))
    assert trained(COLOURED[:9]).tobytes() == kept(COLOURED[:9]).tobytes()
    assert (trained.source, trained.accuracy) == (kept.source, kept.accuracy)
    assert (heard[0], heard[-1]) == (0.0, 1.0)
    assert trained(COLOURED[:9]).shape == (9, trained.dimensions)
    assert trained(COLOURED[:9]).dtype == np.float32


@pytest.mark.thorough
def test_training_is_a_function_of_the_data(short: None, tmp_path: Path) -> None:
    found = []
    for i in range(2):
        keras.utils.set_random_seed(i)
        found.append(obtain("images", COLOURED, tmp_path / f"{i}", silent))
    assert found[0](COLOURED[:9]).tobytes() == found[1](COLOURED[:9]).tobytes()
    other = obtain("images", 255 - COLOURED, tmp_path, silent)
    assert other.source.digest != found[0].source.digest


def test_an_image_has_the_same_features_whatever_comes_with_it(short: None, tmp_path: Path) -> None:
    found = obtain("images", COLOURED, tmp_path, silent)
    assert found(COLOURED[:3]).tobytes() == found(COLOURED)[:3].tobytes()


def test_an_encoder_that_learned_nothing_says_so(short: None, tmp_path: Path) -> None:
    flat = np.full((300, 32, 32, 3), 90, np.uint8)  # looks the same however it is turned
    found = obtain("images", flat, tmp_path, silent)
    assert found.accuracy < 0.4
    [remark] = found.remarks
    assert "where guessing has 25 %" in remark


def test_rotated_images_are_turned_as_they_say() -> None:
    image = np.zeros((1, 16, 16, 1), np.uint8)
    image[0, :8] = 200  # bright above
    images = np.repeat(image, 400, axis=0)
    pixels, turns = rotated(images, 5)
    assert np.bincount(turns).min() > 60
    bright = [
        pixels[turns == quarters].mean((0, 3)).reshape(2, 8, 2, 8).mean((1, 3))
        for quarters in range(4)
    ]
    assert bright[0][0].mean() > 150 > 50 > bright[0][1].mean()  # above
    assert bright[2][1].mean() > 150 > 50 > bright[2][0].mean()  # below
    assert bright[1][:, 0].mean() > 150 > 50 > bright[1][:, 1].mean()  # left
    assert rotated(images, 5)[0].tobytes() == pixels.tobytes()
    assert rotated(images, 6)[0].tobytes() != pixels.tobytes()


def test_it_is_not_made_inside_a_strategy(tmp_path: Path) -> None:
    with (
        tf.distribute.OneDeviceStrategy("/CPU:0").scope(),
        pytest.raises(AssertionError, match="outside the strategy's scope"),
    ):
        obtain("images", COLOURED, tmp_path, silent)


@pytest.mark.thorough
def test_distances_order_real_noisy_blurred_and_missing_images(tmp_path: Path) -> None:
    """As in docs/quality.md, of digits with their labels hidden."""
    found = obtain("digits", DIGITS, tmp_path, silent)
    assert found.accuracy > 0.85
    assert found.remarks == []
    mixed = extract.order(len(DIGITS))
    images, labels = DIGITS[mixed[800:]], digits.load(None).labels[mixed[800:]]  # type: ignore[index]
    real = sample(found(DIGITS[mixed[:800]]))
    noise = np.random.default_rng(0).standard_normal(images.shape) * 255
    blurred = images.astype(np.float32)
    for axis in (1, 2):
        blurred = (np.roll(blurred, 1, axis) + 2 * blurred + np.roll(blurred, -1, axis)) / 4
    course = [images, images + 0.05 * noise, blurred, images + 0.4 * noise]
    for name in ("fid", "kid"):
        values = [
            compare(real, sample(found(one.clip(0, 255).round().astype(np.uint8))))[name]
            for one in course
        ]
        assert values == sorted(values), name
        without = compare(real, sample(found(images[labels != 3])))[name]
        half = compare(real, sample(found(images[labels < 5])))[name]
        assert values[0] < without < half, name
