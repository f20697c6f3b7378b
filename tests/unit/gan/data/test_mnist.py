"""MNIST and Fashion-MNIST from npz and idx files, good, damaged and absent."""

from __future__ import annotations

import gzip
import os
import struct
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ganboard.gan.config import RunConfig
from ganboard.gan.data import DatasetError, catalog, load
from ganboard.gan.models.dcgan.config import Config

MNIST = Config(dataset="mnist")
FASHION = Config(dataset="fashion_mnist")
N = 70
PIXELS = np.random.default_rng(0).integers(0, 256, (N, 28, 28), np.uint8)
DIGITS = (np.arange(N) % 10).astype(np.uint8)


def idx(array: np.ndarray) -> bytes:
    return struct.pack(f">BBBB{array.ndim}I", 0, 0, 8, array.ndim, *array.shape) + array.tobytes()


def save_npz(path: Path, **arrays: Any) -> None:
    np.savez_compressed(path, **{"x_train": PIXELS, "y_train": DIGITS, **arrays})


def save_idx(
    folder: Path, images: bytes = idx(PIXELS), labels: bytes = idx(DIGITS), suffix: str = ""
) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    pack = gzip.compress if suffix else bytes
    (folder / f"train-images-idx3-ubyte{suffix}").write_bytes(pack(images))
    (folder / f"train-labels-idx1-ubyte{suffix}").write_bytes(pack(labels))


def refusal(config: RunConfig, folder: Path) -> str:
    with pytest.raises(DatasetError) as caught:
        load(config, folder)
    sentence = str(caught.value)
    assert str(folder) in sentence
    assert sentence.endswith(".")
    assert "\n" not in sentence
    return sentence


def require_same(config: RunConfig, folder: Path) -> str:
    data = load(config, folder)
    assert data.images.shape == (N, 28, 28, 1)
    assert data.images.dtype == np.uint8
    np.testing.assert_array_equal(data.images[..., 0], PIXELS)
    assert data.labels is not None
    assert data.labels.dtype == np.int64
    np.testing.assert_array_equal(data.labels, DIGITS)
    assert catalog.count(config, folder) == N
    catalog.check(config, folder)
    assert catalog.available(folder)[config.dataset] is None
    return data.source


@pytest.mark.parametrize("config", [MNIST, FASHION], ids=["mnist", "fashion_mnist"])
@pytest.mark.parametrize("version", [(1, 0), (2, 0)])
def test_reads_npz(
    tmp_path: Path, config: RunConfig, version: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    write = np.lib.format.write_array
    monkeypatch.setattr(
        np.lib.format,
        "write_array",
        lambda file, array, **kwargs: write(file, array, version, **kwargs),
    )
    path = tmp_path / f"{config.dataset}.npz"
    save_npz(path)
    assert str(path) in require_same(config, tmp_path)


@pytest.mark.parametrize("suffix", ["", ".gz"])
@pytest.mark.parametrize(
    ("config", "folder"), [(MNIST, "."), (MNIST, "mnist"), (FASHION, "fashion_mnist")]
)
def test_reads_idx(tmp_path: Path, config: RunConfig, folder: str, suffix: str) -> None:
    save_idx(tmp_path / folder, suffix=suffix)
    assert "idx3" in require_same(config, tmp_path)


def test_idx_beside_the_other_datasets_is_never_taken_for_fashion(tmp_path: Path) -> None:
    save_idx(tmp_path)
    save_npz(tmp_path / "mnist.npz")
    assert "fashion_mnist is not on this machine" in refusal(FASHION, tmp_path)


def test_limit_takes_the_first(tmp_path: Path) -> None:
    save_npz(tmp_path / "mnist.npz")
    data = load(Config(dataset="mnist", limit=64), tmp_path)
    np.testing.assert_array_equal(data.images[..., 0], PIXELS[:64])
    assert data.labels is not None
    assert len(data.labels) == 64


def test_npz_with_channel_axis_and_wide_labels(tmp_path: Path) -> None:
    save_npz(
        tmp_path / "mnist.npz", x_train=PIXELS[..., np.newaxis], y_train=DIGITS.astype(np.int32)
    )
    require_same(MNIST, tmp_path)


@pytest.mark.parametrize(
    ("arrays", "reason"),
    [
        ({"x_train": PIXELS[:, :20]}, r"shape \(70, 20, 28\): they must be \[N, 28, 28\]"),
        ({"x_train": PIXELS.reshape(N, -1)}, r"shape \(70, 784\)"),
        ({"x_train": PIXELS[:0]}, "holds no images"),
        ({"x_train": PIXELS.astype(np.float32)}, "float32, not whole numbers"),
        ({"x_train": PIXELS.astype(np.int64)}, "int64 images: save them as uint8"),
        ({"x_train": np.array([{"a": 1}, None], dtype=object)}, "object"),
        ({"x_train": np.uint8(3)}, r"shape \(\)"),
        ({"y_train": np.array([object()] * N, dtype=object)}, "object"),
        ({"y_train": DIGITS[:-1]}, r"labels of shape \(69,\)"),
        ({"y_train": np.eye(10, dtype=np.uint8)[DIGITS]}, r"labels of shape \(70, 10\)"),
    ],
)
@pytest.mark.filterwarnings("error")
def test_refuses_a_wrong_npz(tmp_path: Path, arrays: dict[str, Any], reason: str) -> None:
    class Evil:
        def __reduce__(self) -> tuple[Any, ...]:
            return os.mkdir, (str(tmp_path / "pwned"),)

    arrays = {
        key: np.array([Evil()] * len(value), dtype=object) if value.dtype == object else value
        for key, value in arrays.items()
    }
    save_npz(tmp_path / "mnist.npz", **arrays)
    with pytest.raises(DatasetError, match=reason):
        load(MNIST, tmp_path)
    refusal(MNIST, tmp_path)
    assert not (tmp_path / "pwned").exists()


def test_refuses_an_npz_without_images(tmp_path: Path) -> None:
    np.savez(tmp_path / "mnist.npz", images=PIXELS, labels=DIGITS)
    assert "no array x_train (it holds images, labels)" in refusal(MNIST, tmp_path)


def test_refuses_an_npz_whose_header_promises_more_than_it_holds(tmp_path: Path) -> None:
    path = tmp_path / "mnist.npz"
    np.savez(path, x_train=PIXELS, y_train=DIGITS)
    path.write_bytes(path.read_bytes().replace(b"(70, 28, 28), }      ", b"(99999999, 28, 28), }"))
    assert "its shape (99999999, 28, 28) needs 78,399,999,344 bytes" in refusal(MNIST, tmp_path)


def test_every_cut_of_an_npz_gives_one_sentence(tmp_path: Path) -> None:
    path = tmp_path / "mnist.npz"
    save_npz(path)
    whole = path.read_bytes()
    for keep in range(0, len(whole), len(whole) // 40):
        path.write_bytes(whole[:keep])
        assert "cannot be read" in refusal(MNIST, tmp_path)
        with pytest.raises(DatasetError):
            catalog.count(MNIST, tmp_path)


def test_a_damaged_file_is_never_replaced_by_another_place(tmp_path: Path) -> None:
    (tmp_path / "mnist.npz").write_bytes(b"damaged")
    save_idx(tmp_path / "mnist")
    assert "mnist.npz" in refusal(MNIST, tmp_path)


@pytest.mark.parametrize("suffix", ["", ".gz"])
@pytest.mark.parametrize(
    ("images", "reason"),
    [
        (b"", "ends inside its 16-byte header"),
        (idx(PIXELS)[:9], "ends inside its 16-byte header"),
        (idx(PIXELS)[:-1], "it holds only 54,879"),
        (idx(PIXELS) + b"\0", "it holds more"),
        (idx(DIGITS) + bytes(9), "magic number is 0x00000801"),
        (b"\0\0\x0d\x03" + idx(PIXELS)[4:], "magic number is 0x00000d03"),
        (struct.pack(">4B3I", 0, 0, 8, 3, 2**32 - 1, 28, 28), "promises 3,367,254,359,280 bytes"),
        (struct.pack(">4B3I", 0, 0, 8, 3, 0, 28, 28), "promises 0 bytes"),
        (idx(PIXELS[:, :14]), r"shape \(70, 14, 28\)"),
    ],
)
def test_refuses_a_wrong_idx(tmp_path: Path, images: bytes, reason: str, suffix: str) -> None:
    save_idx(tmp_path, images, suffix=suffix)
    with pytest.raises(DatasetError, match=reason):
        load(MNIST, tmp_path)
    assert "train-images-idx3-ubyte" in refusal(MNIST, tmp_path)


def test_refuses_wrong_or_missing_idx_labels(tmp_path: Path) -> None:
    save_idx(tmp_path, labels=idx(DIGITS[:-1]))
    assert "labels of shape (69,)" in refusal(MNIST, tmp_path)
    (tmp_path / "train-labels-idx1-ubyte").unlink()
    assert "without its labels" in refusal(MNIST, tmp_path)


def test_refuses_a_cut_gzip_and_a_gzip_with_a_tail(tmp_path: Path) -> None:
    save_idx(tmp_path, suffix=".gz")
    path = tmp_path / "train-images-idx3-ubyte.gz"
    whole = path.read_bytes()
    for damaged in (whole[:-5], whole[: len(whole) // 2], whole + b"tail", b"plain"):
        path.write_bytes(damaged)
        assert "cannot be read" in refusal(MNIST, tmp_path)


def test_a_gzip_bomb_is_read_only_as_far_as_its_header(tmp_path: Path) -> None:
    save_idx(tmp_path, suffix=".gz", images=idx(PIXELS) + bytes(200_000_000))
    before = time.monotonic()
    assert "it holds more" in refusal(MNIST, tmp_path)
    assert time.monotonic() - before < 1


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_refuses_an_unreadable_file(tmp_path: Path) -> None:
    save_npz(tmp_path / "mnist.npz")
    (tmp_path / "mnist.npz").chmod(0)
    assert "Grant read permission" in refusal(MNIST, tmp_path)


def test_the_real_mnist() -> None:
    folder = Path(os.environ.get("GANBOARD_DATA_DIR", ""))
    if not (folder / "mnist.npz").is_file():
        pytest.skip("GANBOARD_DATA_DIR holds no mnist.npz")
    data = load(MNIST, folder)
    assert data.images.shape == (60_000, 28, 28, 1)
    assert data.images.mean() / 255 == pytest.approx(0.1307, abs=5e-4)
    assert data.images.min() == 0
    assert data.images.max() == 255
    assert data.labels is not None
    assert np.bincount(data.labels).tolist() == [
        5923,
        6742,
        5958,
        6131,
        5842,
        5421,
        5918,
        6265,
        5851,
        5949,
    ]
    assert catalog.count(MNIST, folder) == 60_000
