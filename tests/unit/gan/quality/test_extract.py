from __future__ import annotations

from pathlib import Path

import numpy as np

from ganboard.gan.quality.extract import digest, portions, taken
from ganboard.gan.settings.features import Source


class Means:
    """Features of two numbers, and how many images came at a time."""

    source = Source("encoder", "0" * 16)
    dimensions = 2
    bound: int | None = None

    def __init__(self) -> None:
        self.remarks: list[str] = []
        self.seen: list[int] = []

    def __call__(self, images: np.ndarray) -> np.ndarray:
        self.seen.append(len(images))
        flat = images.reshape(len(images), -1).astype(np.float32)
        return np.stack([flat.mean(1), flat.std(1)], axis=1)


def on_disk(path: Path, count: int, side: int) -> np.ndarray:
    images = np.lib.format.open_memmap(
        path / "images.npy", mode="w+", dtype=np.uint8, shape=(count, side, side, 3)
    )
    images[:] = np.random.default_rng(0).integers(0, 256, images.shape)
    return images


def test_images_on_disk_are_read_a_few_at_a_time(tmp_path: Path) -> None:
    images, features = on_disk(tmp_path, 150, 128), Means()
    rows = np.arange(0, 150, 2)
    found = taken(features, images, rows)
    assert found.tobytes() == Means()(np.asarray(images)[rows]).tobytes()
    assert sum(features.seen) == 75
    assert max(features.seen) * 128 * 128 * 3 <= 500 * 64 * 64 * 3
    assert all(type(part) is np.ndarray for part in portions(images, rows))


def test_progress_is_the_finished_share(tmp_path: Path) -> None:
    heard: list[float] = []
    taken(Means(), np.zeros((1200, 8, 8, 1), np.uint8), np.arange(1200), heard.append)
    assert heard == [0, 500 / 1200, 1000 / 1200]


def test_a_digest_is_of_the_rows_and_the_shape() -> None:
    images = np.arange(6 * 4 * 4, dtype=np.uint8).reshape(6, 4, 4, 1)
    known = digest("x", images, np.array([1, 3]))
    assert len(known) == 16
    changed = images.copy()
    changed[0] += 1
    assert digest("x", changed, np.array([1, 3])) == known  # a row that was not asked for
    changed[3] += 1
    others = [
        digest("x", changed, np.array([1, 3])),
        digest("y", images, np.array([1, 3])),
        digest("x", images, np.array([3, 1])),
        digest("x", images[:5], np.array([1, 3])),
        digest("x", images, np.array([1, 3]), np.array([7])),
    ]
    assert len({known, *others}) == 6
