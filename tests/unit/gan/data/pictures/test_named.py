"""Data sets with a name, at any size."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from ganboard.gan.data import DatasetError, digits, download, mnist, pictures
from ganboard.gan.data.pictures import named


def test_digits_at_their_own_size_and_larger(tmp_path: Path) -> None:
    small = pictures.load_named("digits", tmp_path, 28, 1)
    expected = digits.load(None)
    np.testing.assert_array_equal(small.images[:], expected.images)
    np.testing.assert_array_equal(small.labels, expected.labels)
    assert small.classes == tuple("0123456789")
    assert named.count("digits", tmp_path) == len(small)
    large = pictures.load_named("digits", tmp_path, 32, 3, limit=5)
    assert large.images.shape == (5, 32, 32, 3)
    assert large.source.startswith("1,797 pictures of 10 classes from digits, in colour")


def test_mnist_in_the_data_directory(tmp_path: Path) -> None:
    images = np.random.default_rng(0).integers(0, 256, (4, 28, 28), np.uint8)
    np.savez(tmp_path / "fashion_mnist.npz", x_train=images, y_train=np.array([9, 0, 3, 3]))
    named.check("fashion_mnist", tmp_path)
    assert named.count("fashion_mnist", tmp_path) == 4
    found = pictures.load_named("fashion_mnist", tmp_path, 28, 1)
    np.testing.assert_array_equal(found.images[:][..., 0], images)
    assert found.labels is not None
    assert [found.classes[label] for label in found.labels] == [
        "Ankle boot",
        "T-shirt/top",
        "Dress",
        "Dress",
    ]
    np.savez(tmp_path / "fashion_mnist.npz", x_train=images[:2], y_train=np.array([1, 1]))
    assert len(pictures.load_named("fashion_mnist", tmp_path, 28, 1)) == 2


@pytest.mark.parametrize("name", ["mnist", "cifar10"])
def test_what_is_absent_counts_as_what_a_download_brings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setattr(download, "ORIGIN", "http://127.0.0.1:9/")
    monkeypatch.setattr(named.cifar, "ORIGIN", "http://127.0.0.1:9/")
    assert named.count(name, tmp_path) == (50_000 if name == "cifar10" else mnist.COUNT)
    for act in (named.check, named.source):
        with pytest.raises(DatasetError, match=f"{name} is not on this machine"):
            act(name, tmp_path)
