"""Pictures in an .npz, and CIFAR-10's files."""

from __future__ import annotations

import io
import os
import pickle
import random
import tarfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ganboard.gan.data import DatasetError, pictures
from ganboard.gan.data.pictures import cifar

PIXELS = np.random.default_rng(0).integers(0, 256, (4, 32, 32, 3), np.uint8)


def refused(data_dir: Path, path: str, channels: int = 3) -> str:
    with pytest.raises(DatasetError) as caught:
        pictures.load(data_dir, path, 32, channels)
    assert str(caught.value).endswith(".")
    return str(caught.value)


@pytest.mark.parametrize("names", [("images", "labels"), ("x_train", "y_train")])
def test_arrays_of_the_same_size_stay_to_the_bit(tmp_path: Path, names: tuple[str, str]) -> None:
    np.savez(tmp_path / "set.npz", **{names[0]: PIXELS, names[1]: np.array([[7], [3], [7], [5]])})
    found = pictures.load(tmp_path, "set.npz", 32, 3)
    np.testing.assert_array_equal(found.images[:], PIXELS)
    assert found.classes == ("3", "5", "7")
    assert found.labels is not None
    assert found.labels.tolist() == [2, 0, 2, 1]
    assert pictures.count(tmp_path, "set.npz", 32, 3) == 4


def test_grey_arrays_without_labels(tmp_path: Path) -> None:
    for name, array in (("flat", PIXELS[..., 0]), ("deep", PIXELS[..., :1])):
        np.savez(tmp_path / f"{name}.npz", images=array)
        found = pictures.load(tmp_path, f"{name}.npz", 32, 1)
        np.testing.assert_array_equal(found.images[:][..., 0], PIXELS[..., 0])
        assert found.labels is None
    assert pictures.load(tmp_path, "flat.npz", 64, 3).images.shape == (4, 64, 64, 3)


@pytest.mark.parametrize(
    ("held", "sentence"),
    [
        ({"x": PIXELS}, "has no array images or x_train (it holds x)"),
        ({"images": PIXELS.astype(np.float32)}, "its values are float32, not whole numbers"),
        ({"images": PIXELS.astype(np.uint16)}, "holds uint16 pictures: save them as uint8"),
        ({"images": PIXELS[..., :2]}, "with 1 or 3 channels"),
        ({"images": PIXELS[:0]}, "holds no pictures"),
        ({"images": PIXELS, "labels": np.arange(3)}, "there must be one label for each picture"),
        ({"images": PIXELS, "labels": np.array(["a"] * 4)}, "not whole numbers"),
    ],
    ids=["names", "floats", "16 bits", "channels", "empty", "too few labels", "text"],
)
def test_arrays_that_are_no_pictures_are_refused(
    tmp_path: Path, held: dict[str, Any], sentence: str
) -> None:
    np.savez(tmp_path / "set.npz", **held)
    assert sentence in refused(tmp_path, "set.npz")


def python_2(batch: dict[bytes, Any]) -> bytes:
    """A pickle with keys as CIFAR-10 has them."""
    return pickle.dumps(batch, protocol=2)


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """CIFAR-10 with one picture in each file."""
    monkeypatch.setattr(cifar, "COUNT", 5)
    folder = tmp_path / "cifar-10-batches-py"
    folder.mkdir()
    for i in range(5):
        rows = np.arange(3072, dtype=np.int64).reshape(1, -1) * (i + 1) % 251
        batch = {b"data": rows.astype(np.uint8), b"labels": [i % 3]}
        (folder / f"data_batch_{i + 1}").write_bytes(python_2(batch))
    names = {b"label_names": [b"plane", b"car", b"bird"]}
    (folder / "batches.meta").write_bytes(python_2(names))
    return tmp_path


def test_cifar_10_in_a_folder_or_archive(data: Path) -> None:
    found = pictures.load_named("cifar10", data, 32, 3)
    assert found.images.shape == (5, 32, 32, 3)
    # planes of red, green and blue
    assert found.images[1][0, 1].tolist() == [i * 2 % 251 for i in (1, 1025, 2049)]
    assert found.images[1][2, 0].tolist() == [i * 2 % 251 for i in (64, 1088, 2112)]
    assert found.classes == ("plane", "car", "bird")
    assert found.labels is not None
    assert found.labels.tolist() == [0, 1, 2, 0, 1]
    with tarfile.open(data / "cifar-10-python.tar.gz", "w:gz") as archive:
        archive.add(data / "cifar-10-batches-py", "cifar-10-batches-py")
    assert cifar.find(data) == "cifar-10-batches-py"
    (data / "cifar-10-batches-py").rename(data / "elsewhere")
    assert cifar.find(data) == "cifar-10-python.tar.gz"
    packed = pictures.load_named("cifar10", data, 32, 3)
    assert packed.digest == found.digest
    assert pictures.count(data, "cifar-10-python.tar.gz", 32, 3) == 5


def test_absent_and_offline_is_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cifar, "ORIGIN", "http://127.0.0.1:9/")
    with pytest.raises(DatasetError) as caught:
        pictures.load_named("cifar10", tmp_path, 32, 3)
    sentence = str(caught.value)
    assert sentence.startswith("cifar10 is not on this machine (looked for ")
    assert "127.0.0.1, from where Keras downloads it, cannot be reached" in sentence
    assert f"copy cifar-10-python.tar.gz into {tmp_path}" in sentence


class Harmful:
    def __reduce__(self) -> tuple[Any, ...]:
        return os.system, ("echo harmful > /tmp/harmful",)


class Large:
    def __reduce__(self) -> tuple[Any, ...]:
        return np.zeros(0).__reduce__()[0], (np.ndarray, (1 << 40,), b"b")


@pytest.mark.parametrize(
    ("batch", "sentence"),
    [
        (Harmful(), r"data_batch_3 cannot be read \(it asks for posix.system\)"),
        (Large(), r"an array begins with shape \(1099511627776,\)"),
        ({b"data": PIXELS.reshape(4, -1)[:, :9], b"labels": [1] * 4}, r"uint8 of shape \(4, 9\)"),
        ({b"data": np.zeros((1, 3072), np.uint8), b"labels": [-1]}, "has the label -1"),
        ({b"data": np.zeros((1, 3072), np.uint8), b"labels": [3]}, "label 3 has no name"),
        ({b"data": np.zeros((2, 3072), np.uint8), b"labels": [1, 1]}, "holds 6 pictures instead"),
        ({b"labels": [1]}, "data_batch_3 cannot be read"),
        ([1, 2], "data_batch_3 cannot be read"),
    ],
    ids=["code", "memory", "shape", "negative", "unnamed", "count", "keys", "list"],
)
def test_hostile_and_damaged_files_are_refused(data: Path, batch: Any, sentence: str) -> None:
    (data / "cifar-10-batches-py" / "data_batch_3").write_bytes(python_2(batch))
    with pytest.raises(DatasetError, match=sentence):
        pictures.load_named("cifar10", data, 32, 3)
    assert not Path("/tmp/harmful").exists()


def test_damaged_archives_are_refused(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (data / "cifar-10-batches-py").rename(data / "elsewhere")
    file = data / "cifar-10-python.tar.gz"
    file.write_bytes(b"no archive")
    assert "cannot be read" in refused(data, file.name)
    with tarfile.open(file, "w:gz") as archive:
        archive.addfile(tarfile.TarInfo("data_batch_1"), io.BytesIO())
    assert "it has no data_batch_2" in refused(data, file.name)
    monkeypatch.setattr(cifar, "_MAX_BYTES", 10)
    with tarfile.open(file, "w:gz") as archive:
        archive.add(data / "elsewhere", "x")
    assert "bytes, more than the 10 allowed" in refused(data, file.name)


def test_random_damage_gives_pictures_or_one_sentence(data: Path) -> None:
    file = data / "cifar-10-batches-py" / "data_batch_2"
    whole = file.read_bytes()
    chance = random.Random(0)
    outcomes = set()
    for _ in range(300):
        damaged = bytearray(whole)
        for _ in range(chance.randint(1, 4)):
            # around the pixels, which may be anything
            damaged[chance.choice([chance.randrange(250), -chance.randint(1, 60)])] = (
                chance.randrange(256)
            )
        try:
            images, labels = cifar._batch(bytes(damaged), file)
            outcomes.add(images.shape[1:] == (32, 32, 3) and len(images) == len(labels))
        except DatasetError:
            outcomes.add("refused")
    assert outcomes == {True, "refused"}
