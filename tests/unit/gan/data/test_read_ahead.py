"""Batches that are read before they are asked for, and never the wrong ones."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from ganboard.gan.data import DatasetError, read_ahead
from ganboard.gan.data.dataset import Images
from ganboard.gan.data.pictures.rows import Index, Rows
from ganboard.gan.data.read_ahead import ReadAhead
from ganboard.gan.rng import philox
from tests.polling import wait_until

ARRAY = np.random.default_rng(0).integers(0, 256, (100, 4, 4, 1), np.uint8)
ORDER = philox.order(3, 1, len(ARRAY))
SIZE = 4


class Watched(Rows):
    """Rows that note what was read."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.seen: list[list[int]] = []

    def read_into(self, target: Images, index: Index) -> None:
        self.seen.append(index.tolist())
        super().read_into(target, index)


@pytest.fixture
def rows(tmp_path: Path) -> Watched:
    np.save(tmp_path / "x.npy", ARRAY)
    return Watched(tmp_path / "x.npy")


def batch(number: int) -> np.ndarray:
    return ORDER[number * SIZE : (number + 1) * SIZE]


def test_reads_the_next_batches_before_they_are_asked_for(rows: Watched) -> None:
    stream = ReadAhead(rows)
    stream.expect(ORDER, 2, SIZE)
    ahead = read_ahead.MOST_AHEAD
    wait_until(lambda: len(rows.seen) == ahead, seconds=5)
    assert sorted(rows.seen) == sorted(batch(number).tolist() for number in range(2, 2 + ahead))
    found = stream.read(batch(4))
    np.testing.assert_array_equal(found, ARRAY[batch(4)])
    assert found.ctypes.data % 64 == 0  # TensorFlow need not copy it
    wait_until(lambda: len(rows.seen) == ahead + 2, seconds=5)
    stream.expect(ORDER, 5, SIZE)  # the epoch goes on
    assert len(rows.seen) == ahead + 2


def test_an_epoch_is_read_once_and_kept_in_a_few_batches(rows: Watched) -> None:
    stream = ReadAhead(rows)
    stream.expect(ORDER, 0, SIZE)
    for number in range(25):
        stream.expect(ORDER, number, SIZE)
        np.testing.assert_array_equal(stream.read(batch(number)), ARRAY[batch(number)])
        assert len(stream._batches) <= read_ahead.MOST_AHEAD + 3
    assert sorted(rows.seen) == sorted(batch(number).tolist() for number in range(25))
    following = philox.order(3, 2, len(ARRAY))
    stream.expect(following, 0, SIZE)
    np.testing.assert_array_equal(stream.read(following[:SIZE]), ARRAY[following[:SIZE]])
    assert len(stream._batches) == read_ahead.MOST_AHEAD


def test_replicas_that_are_a_step_apart_share_what_was_read(rows: Watched) -> None:
    stream = ReadAhead(rows)
    stream.expect(ORDER, 0, SIZE)
    for number in (0, 1, 0, 2, 1, 2):
        np.testing.assert_array_equal(stream.read(batch(number)), ARRAY[batch(number)])
    assert len({tuple(seen) for seen in rows.seen}) == len(rows.seen)


def test_what_nobody_expected_is_read_all_the_same(rows: Watched) -> None:
    stream = ReadAhead(rows)
    np.testing.assert_array_equal(stream.read(batch(7)), ARRAY[batch(7)])
    stream.expect(ORDER, 0, SIZE)
    for wanted in (batch(24), batch(0)[:2], batch(0)[[0, 2, 1, 3]], np.array([], np.int32)):
        np.testing.assert_array_equal(stream.read(wanted), ARRAY[wanted])
    stream.expect(ORDER, 20, SIZE)  # a resumed epoch
    np.testing.assert_array_equal(stream.read(batch(20)), ARRAY[batch(20)])


def test_large_batches_are_fewer_ahead(rows: Watched, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(read_ahead, "AHEAD_BYTES", 5 * SIZE * rows.row_bytes)
    stream = ReadAhead(rows)
    stream.expect(ORDER, 0, SIZE)
    wait_until(lambda: len(rows.seen) == 5, seconds=5)
    stream.expect(ORDER, 0, 10 * SIZE)
    assert len(stream._batches) == 2


def test_a_disk_that_fails_is_named(rows: Watched) -> None:
    stream = ReadAhead(rows)
    with rows.path.open("r+b") as file:
        file.truncate(rows.offset)
    stream.expect(ORDER, 0, SIZE)
    with pytest.raises(DatasetError, match=r"x.npy cannot be read \(.*cut off.*\): check the disk"):
        stream.read(batch(0))
    assert stream.failure is not None
