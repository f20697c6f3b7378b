"""The idx format of the MNIST distribution: 0 0 type rank, then big-endian sizes, then the
values."""

from __future__ import annotations

import gzip
import math
import struct
from contextlib import AbstractContextManager
from pathlib import Path
from typing import BinaryIO, cast

import numpy as np

from ganboard.gan.data.archive import MAX_EXPANDED
from ganboard.gan.data.dataset import Images, reading

_UINT8 = 0x08
_REMEDY = "copy the file again from its origin"


def shape(path: Path, rank: int) -> tuple[int, ...]:
    """Sizes in the header of an idx file (or its .gz) of bytes; raises DatasetError."""
    with reading(path, _REMEDY), _open(path) as file:
        return _header(file, rank)


def read(path: Path, rank: int) -> Images:
    """All values of an idx file (or its .gz) of bytes, which must end exactly where its header
    says; raises DatasetError."""
    with reading(path, _REMEDY), _open(path) as file:
        sizes = _header(file, rank)
        expected = math.prod(sizes)
        data = file.read(expected + 1)
        if len(data) != expected:
            found = f"only {len(data):,}" if len(data) < expected else "more"
            raise ValueError(f"its header {sizes} promises {expected:,} bytes, it holds {found}")
    return np.frombuffer(data, np.uint8).reshape(sizes)


def _header(file: BinaryIO, rank: int) -> tuple[int, ...]:
    size = 4 + 4 * rank
    header = file.read(size)
    if len(header) < size:
        raise ValueError(f"it ends inside its {size}-byte header")
    if header[:4] != bytes((0, 0, _UINT8, rank)):
        raise ValueError(
            f"its magic number is 0x{header[:4].hex()} and must be 0x0000{_UINT8:02x}{rank:02x}"
        )
    sizes = struct.unpack(f">{rank}I", header[4:])
    if not 0 < math.prod(sizes) <= MAX_EXPANDED:
        raise ValueError(
            f"its header {sizes} promises {math.prod(sizes):,} bytes, not 1 to {MAX_EXPANDED:,}"
        )
    return sizes


def _open(path: Path) -> AbstractContextManager[BinaryIO]:
    return cast(
        "AbstractContextManager[BinaryIO]",
        gzip.open(path) if path.suffix == ".gz" else path.open("rb"),
    )
