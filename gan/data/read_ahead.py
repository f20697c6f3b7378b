"""Batches of a file of pictures, read before a step asks for them. Free of TensorFlow."""

from __future__ import annotations

import math
import threading
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ganboard.gan.data.dataset import DatasetError, Images
from ganboard.gan.data.pictures.rows import Rows

Order = npt.NDArray[np.int32]

READERS = 4  # threads; a solid-state disk answers several reads as quickly as one
AHEAD_BYTES = 64 << 20
MOST_AHEAD = 16  # batches
_ALIGNMENT = 64  # bytes
_BEHIND = 2  # batches that stay, since replicas that `fit` drives ask for each on their own


@dataclass(frozen=True)
class _Batch:
    position: int  # in the order, in batches
    pixels: Future[Images]


class ReadAhead:
    """Reads batches of `rows` in the order that `expect` names. What `read` returns depends on its
    argument alone; the order only decides what is there already."""

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self.failure: DatasetError | None = None  # why the last reading failed
        self._pool = ThreadPoolExecutor(READERS, thread_name_prefix="read-ahead")
        self._lock = threading.Lock()
        self._order: Order = np.empty(0, np.int32)
        self._size = 1
        self._next = 0  # position of the batch that is read next
        self._batches: dict[int, _Batch] = {}  # by their first row, which no other batch has

    def expect(self, order: Order, first: int, size: int) -> None:
        """The next batches are those of `size` rows of `order`, from number `first` on; said again
        while the epoch goes on, it changes nothing."""
        with self._lock:
            going_on = order is self._order and size == self._size
            if going_on and (
                first >= len(order) // size or int(order[first * size]) in self._batches
            ):
                return
            self._order = order
            self._size = size
            self._next = first
            self._batches.clear()
            self._submit(first)

    def read(self, batch: Order) -> Images:
        """The rows `batch` [n]. Raises DatasetError."""
        expected = None
        with self._lock:
            if batch.size and (found := self._batches.get(int(batch[0]))) is not None:
                start = found.position * self._size
                if np.array_equal(self._order[start : start + self._size], batch):
                    expected = found
                    self._submit(found.position)
        try:
            return self._read(batch) if expected is None else expected.pixels.result()
        except OSError as error:
            self.failure = DatasetError(
                f"{self.rows.path} cannot be read ({error.strerror or error}): check the disk."
            )
            raise self.failure from error

    def _read(self, batch: Order) -> Images:
        shape = (len(batch), *self.rows.shape[1:])
        target = _aligned(math.prod(shape)).reshape(shape)
        self.rows.read_into(target, batch)
        return target

    def _submit(self, position: int) -> None:
        """Begin to read what follows `position`, and forget what lies before."""
        for key, batch in list(self._batches.items()):
            if batch.position < position - _BEHIND:
                del self._batches[key]
        row_bytes = max(1, self.rows.row_bytes * self._size)
        ahead = min(MOST_AHEAD, max(2, AHEAD_BYTES // row_bytes))
        last = min(position + ahead, len(self._order) // self._size)
        for number in range(self._next, last):
            rows = self._order[number * self._size : (number + 1) * self._size]
            pixels = self._pool.submit(self._read, rows)
            self._batches[int(rows[0])] = _Batch(number, pixels)
        self._next = max(self._next, last)


def _aligned(size: int) -> Images:
    """An array of `size` bytes whose memory TensorFlow can use as it is: others it copies."""
    whole = np.empty(size + _ALIGNMENT, np.uint8)
    first = -whole.ctypes.data % _ALIGNMENT
    return whole[first : first + size]
