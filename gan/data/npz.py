"""NumPy archives with Keras's names: x_train and y_train. Pickled objects are never loaded."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ganboard.gan.data.archive import Limits, SafeZip
from ganboard.gan.data.dataset import DatasetError, reading

_HEADER = 4096  # bytes, many times what an array of numbers needs
_REMEDY = (
    "copy the file again from its origin, or save it with numpy.savez_compressed(path, x_train=...,"
    " y_train=...)"
)


def shape(path: Path, name: str, limits: Limits | None = None) -> tuple[int, ...]:
    """Shape of one array, from its header alone; raises DatasetError."""
    with SafeZip(path, limits) as archive, reading(_what(path, name), _REMEDY):
        return _header(archive, path, name)[0]


def read(path: Path, name: str, limits: Limits | None = None) -> npt.NDArray[Any]:
    """One array of whole numbers; raises DatasetError."""
    with SafeZip(path, limits) as archive, reading(_what(path, name), _REMEDY):
        sizes, dtype = _header(archive, path, name)
        data = archive.read(f"{name}.npy")
        array: npt.NDArray[Any] = np.load(io.BytesIO(data), allow_pickle=False)
        assert array.shape == sizes
        assert array.dtype == dtype
        return array


def _header(archive: SafeZip, path: Path, name: str) -> tuple[tuple[int, ...], np.dtype[Any]]:
    member = f"{name}.npy"
    if member not in archive.members:
        held = (
            ", ".join(sorted(key.removesuffix(".npy") for key in archive.members)[:10]) or "nothing"
        )
        raise DatasetError(f"{path} has no array {name} (it holds {held}): {_REMEDY}.")
    head = io.BytesIO(archive.head(member, _HEADER))
    version = np.lib.format.read_magic(head)
    if version not in ((1, 0), (2, 0)):
        raise ValueError(f"its npy version is {version}, not 1.0 or 2.0")
    reader = (
        np.lib.format.read_array_header_1_0
        if version == (1, 0)
        else np.lib.format.read_array_header_2_0
    )
    sizes, _, dtype = reader(head)
    if dtype.kind not in "ui":
        raise ValueError(f"its values are {dtype}, not whole numbers")
    expected = head.tell() + int(np.prod(sizes, dtype=object)) * dtype.itemsize
    if archive.members[member].file_size != expected:
        raise ValueError(
            f"its shape {sizes} needs {expected:,} bytes, it holds"
            f" {archive.members[member].file_size:,}"
        )
    return sizes, dtype


def _what(path: Path, name: str) -> str:
    return f"{path}: array {name}"
