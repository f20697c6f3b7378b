"""scikit-learn's digits, as they look after up-sampling; and what importing the package costs."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from ganboard.gan.data import Dataset, load
from ganboard.gan.data.digits import COUNT
from ganboard.gan.models.dcgan.config import Config


@pytest.fixture(scope="module")
def data() -> Dataset:
    return load(Config(dataset="digits"), Path("/nonexistent"))


def test_shape_and_type(data: Dataset) -> None:
    assert data.images.shape == (COUNT, 28, 28, 1)
    assert data.images.dtype == np.uint8
    assert data.labels is not None
    assert data.labels.dtype == np.int64
    assert np.bincount(data.labels).tolist() == [178, 182, 177, 183, 181, 182, 181, 179, 174, 180]
    assert "scikit-learn" in data.source


def test_digits_look_like_mnist(data: Dataset) -> None:
    """Full range, black rim, mass in the middle, mean grey level within a quarter of MNIST's
    0.1307."""
    images = data.images[..., 0].astype(np.float64)
    assert images.max() == 255
    assert (images.max((1, 2)) >= 200).all()
    assert images[:, [0, -1]].mean() < 1
    assert images[:, :, [0, -1]].mean() < 1
    assert images.mean() / 255 == pytest.approx(0.1307, rel=0.25)
    mass = images.sum((1, 2))
    for axis in (1, 2):
        centres = images.sum(3 - axis) @ np.arange(28) / mass
        assert np.abs(centres - 13.5).max() <= 0.51


def test_the_real_values_are_kept(data: Dataset) -> None:
    """Shrunk back to 8 x 8, the images give scikit-learn's values again: nothing was generated or
    smoothed away."""
    from sklearn.datasets import load_digits

    for image, original in zip(data.images[:100, ..., 0], load_digits().images[:100], strict=True):
        shrunk = (
            np.asarray(
                Image.fromarray(image[y : y + 20, x : x + 20]).resize((8, 8), Image.Resampling.BOX)
            )
            for y in range(9)
            for x in range(9)
        )
        assert (
            max(
                np.corrcoef(small.ravel(), original.ravel())[0, 1]
                for small in shrunk
                if small.any()
            )
            > 0.97
        )


def test_limit_takes_the_first(data: Dataset) -> None:
    few = load(Config(dataset="digits", limit=64), Path("/nonexistent"))
    np.testing.assert_array_equal(few.images, data.images[:64])
    assert few.labels is not None
    assert len(few.labels) == 64


def test_importing_is_light() -> None:
    script = (
        "import sys, ganboard.gan.data, ganboard.gan.data.catalog; print([m for m in ('sklearn',"
        " 'scipy', 'keras', 'tensorflow') if m in sys.modules])"
    )
    assert (
        subprocess.run(
            [sys.executable, "-c", script], capture_output=True, text=True, check=True
        ).stdout.strip()
        == "[]"
    )
