"""Pictures on disk that are used like an array, without being mapped into memory."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import Any, overload

import numpy as np
import numpy.typing as npt

from ganboard.gan import files
from ganboard.gan.data.dataset import Images

Index = npt.NDArray[np.integer[Any]]

HELD_BYTES = 256 << 20  # pictures that take more are not held in memory in training


class _Descriptor:
    """An open file, which is closed when nobody reads it any more."""

    def __init__(self, number: int) -> None:
        self.number = number

    def __del__(self) -> None:
        os.close(self.number)


class Rows:
    """The array [N, H, W, C] uint8 of an .npy file; what is asked for is read, by any thread.

    A mapped file counts as memory of the process as far as it has been touched, which in an epoch
    is all of it.
    """

    def __init__(self, path: Path) -> None:
        """Raises OSError, files.NoFile, and ValueError for another kind of file."""
        with files.open_plain(path) as file:
            if np.lib.format.read_magic(file) != (1, 0):
                raise ValueError("its npy version is not 1.0")
            shape, fortran, dtype = np.lib.format.read_array_header_1_0(file)
            if fortran or dtype != np.uint8 or len(shape) != 4:
                raise ValueError(f"it holds {dtype} of shape {shape}, not bytes [N, H, W, C]")
            self.offset = file.tell()  # of the first row, in bytes
            self._file = _Descriptor(os.dup(file.fileno()))
        self.path = path
        self.dtype = np.dtype(np.uint8)
        self.shape: tuple[int, ...] = shape
        self.row_bytes = int(np.prod(shape[1:]))

    def __len__(self) -> int:
        return self.shape[0]

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def nbytes(self) -> int:
        return len(self) * self.row_bytes

    def head(self, count: int | None) -> Rows:
        """The first `count` rows, or all; nothing is read."""
        found = object.__new__(Rows)
        found.__dict__.update(self.__dict__)
        found.shape = (min(len(self), len(self) if count is None else count), *self.shape[1:])
        return found

    @overload
    def __getitem__(self, index: int) -> Images: ...
    @overload
    def __getitem__(self, index: slice | Index) -> Images: ...
    def __getitem__(self, index: int | slice | Index) -> Images:
        if isinstance(index, slice):
            first, last, step = index.indices(len(self))
            if step == 1:
                found = np.empty([max(0, last - first), *self.shape[1:]], np.uint8)
                self._read(first, found)
                return found
            index = np.arange(first, last, step)
        wanted = np.asarray(index)
        if wanted.ndim > 1 or wanted.dtype.kind not in "iu":
            raise IndexError(f"rows are chosen by whole numbers, not {wanted.dtype}")
        found = np.empty([*wanted.shape, *self.shape[1:]], np.uint8)
        self.read_into(found.reshape(-1, *self.shape[1:]), wanted.reshape(-1))
        return found

    def __array__(
        self, dtype: npt.DTypeLike | None = None, copy: bool | None = None
    ) -> npt.NDArray[Any]:
        """All of it in memory."""
        if copy is False:
            raise ValueError("rows on disk cannot be had without a copy")
        return self[:].astype(dtype or np.uint8, copy=False)

    def measure(self) -> str:
        """SHA-256 of all pixels. Raises ValueError when there are more or fewer of them."""
        whole = hashlib.sha256()
        left = self.nbytes
        at = self.offset
        while left:
            data = os.pread(self._file.number, min(left, 1 << 20), at)
            if not data:
                break
            whole.update(data)
            left -= len(data)
            at += len(data)
        if left or os.fstat(self._file.number).st_size != at:
            raise ValueError(f"{self.path} does not end where its header says")
        return whole.hexdigest()

    def read_into(self, target: Images, index: Index) -> None:
        """Fill `target` [n, H, W, C] with the rows `index` [n]. Raises IndexError, OSError."""
        for row, i in zip(target, index.tolist(), strict=True):
            if not -len(self) <= i < len(self):
                raise IndexError(f"row {i} of {len(self)}")
            self._read(i % len(self), row)

    def _read(self, first: int, target: Images) -> None:
        """Fill contiguous `target` with the rows from `first` on."""
        left = target.reshape(-1).data
        at = self.offset + first * self.row_bytes
        while left:
            count = os.preadv(self._file.number, [left], at)
            if not count:
                raise OSError(f"{self.path} was cut off while it was read")
            left = left[count:]
            at += count
