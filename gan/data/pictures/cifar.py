"""CIFAR-10 (Krizhevsky 2009) as Keras keeps it: `cifar-10-batches-py`, a folder or .tar.gz of
pickles.

A pickle may run any code. These are read by an unpickler that makes NumPy arrays of bytes and
Python's own lists, numbers and strings, and nothing else.
"""

from __future__ import annotations

import io
import math
import pickle
import tarfile
from collections.abc import Iterator, Mapping
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np

from ganboard.gan.data import download
from ganboard.gan.data.dataset import DatasetError, Images, Labels, reading
from ganboard.gan.data.pictures.labels import Classes

COUNT = 50_000  # pictures for training
NAME = "cifar-10-batches-py"
ARCHIVE = "cifar-10-python.tar.gz"
ORIGIN = "https://www.cs.toronto.edu/~kriz/"
SHA256 = "6d958be074577803d12ecdefd02955f39262c83c16fe9348329d7fe0b5c001ce"  # stated by Keras

_BATCHES = tuple(f"data_batch_{number}" for number in range(1, 6))
_NAMES = "batches.meta"
_SHAPE = (3, 32, 32)
_MAX_BYTES = 64 << 20  # of one file; CIFAR-10's have 31 MB
_MAX_MEMBERS = 100  # of a .tar.gz
_REMEDY = f"copy {ARCHIVE} again from its origin"


def places(data_dir: Path) -> list[Path]:
    """Where CIFAR-10 is looked for, in this order."""
    names = (NAME, f"{NAME}-target/{NAME}", ARCHIVE, f"{NAME}.tar.gz")
    return [data_dir / name for name in names]


def find(data_dir: Path) -> str | None:
    """Where CIFAR-10 lies in `data_dir`, as a path within it; None if it does not."""
    found = (path for path in places(data_dir) if is_folder(path) or path.is_file())
    return next((path.relative_to(data_dir).as_posix() for path in found), None)


def obtain(data_dir: Path) -> str:
    """As `find`, after a download where it is absent. Raises DatasetError."""
    found = find(data_dir)
    if found is None:
        require_download(data_dir)
        download.fetch(ARCHIVE, data_dir / ARCHIVE, SHA256, ORIGIN)
        found = ARCHIVE
    return found


def require_download(data_dir: Path) -> None:
    """Raises DatasetError when CIFAR-10, absent from `data_dir`, cannot be downloaded either."""
    if obstacle := download.obstacle(data_dir, ORIGIN):
        looked = ", ".join(str(path) for path in places(data_dir))
        raise DatasetError(
            f"cifar10 is not on this machine (looked for {looked}) and {obstacle}: copy {ARCHIVE}"
            f" into {data_dir}, or set GANBOARD_DATA_DIR to a folder that holds it."
        )


def is_folder(path: Path) -> bool:
    return (path / _BATCHES[0]).is_file()


class Files:
    """The training pictures in a folder or .tar.gz, which are read when one is asked for."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def shape(self) -> tuple[int, ...]:
        """That of CIFAR-10; `images` refuses another."""
        return (COUNT, 32, 32, 3)

    def stamp(self) -> Iterator[str]:
        names = (*_BATCHES, _NAMES) if self.path.is_dir() else ("",)
        for name in names:
            with reading(self.path / name, _REMEDY):
                found = (self.path / name).stat()
            yield f"{name}\0{found.st_size}\0{found.st_mtime_ns}"

    def labels(self) -> tuple[Labels | None, Classes]:
        labels = np.concatenate([batch[1] for batch in self._batches])
        return labels, self._classes

    def images(self) -> Images:
        return np.concatenate([batch[0] for batch in self._batches])

    @cached_property
    def _content(self) -> Mapping[str, bytes]:
        return _from_folder(self.path) if self.path.is_dir() else _from_tar(self.path)

    @cached_property
    def _batches(self) -> list[tuple[Images, Labels]]:
        found = [_batch(self._content[name], self.path / name) for name in _BATCHES]
        count = sum(len(labels) for _, labels in found)
        if count != COUNT:
            raise DatasetError(
                f"{self.path} holds {count:,} pictures instead of CIFAR-10's {COUNT:,}: {_REMEDY}."
            )
        return found

    @cached_property
    def _classes(self) -> Classes:
        where = self.path / _NAMES
        with reading(where, _REMEDY):
            names = [_text(name) for name in _loaded(self._content[_NAMES])["label_names"]]
            highest = max(int(labels.max()) for _, labels in self._batches)
            if highest >= len(names):
                raise ValueError(f"label {highest} has no name")
        return tuple(names)


def _from_folder(path: Path) -> dict[str, bytes]:
    content = {}
    for name in (*_BATCHES, _NAMES):
        file = path / name
        with reading(file, _REMEDY):
            _require_small(file, file.stat().st_size)
            content[name] = file.read_bytes()
    return content


def _from_tar(path: Path) -> dict[str, bytes]:
    content: dict[str, bytes] = {}
    with reading(path, _REMEDY), tarfile.open(path, "r|gz") as archive:
        for count, member in enumerate(archive):
            if count == _MAX_MEMBERS:
                raise ValueError(f"it has more than {_MAX_MEMBERS} members")
            _require_small(f"{path}: member {member.name!r}", member.size)
            name = PurePosixPath(member.name).name
            if name in (*_BATCHES, _NAMES) and member.isreg():
                file = archive.extractfile(member)
                assert file is not None
                content[name] = file.read()
        if missing := [name for name in (*_BATCHES, _NAMES) if name not in content]:
            raise ValueError(f"it has no {missing[0]}")
    return content


def _batch(data: bytes, where: Path) -> tuple[Images, Labels]:
    """Pictures [n, 32, 32, 3] and labels [n] of one file."""
    with reading(where, _REMEDY):
        batch = _loaded(data)
        pixels, labels = batch["data"], np.asarray(batch["labels"], np.int64)
        if pixels.dtype != np.uint8 or pixels.shape != (len(labels), math.prod(_SHAPE)):
            raise ValueError(f"its pictures are {pixels.dtype} of shape {pixels.shape}")
        if labels.size and labels.min() < 0:
            raise ValueError(f"it has the label {labels.min()}")
        return pixels.reshape(-1, *_SHAPE).transpose(0, 2, 3, 1), labels


def _loaded(data: bytes) -> dict[str, Any]:
    """The dictionary in a pickle, with text as keys: Python 2 wrote them as bytes."""
    found = _Unpickler(io.BytesIO(data), encoding="bytes").load()
    return {_text(key): value for key, value in found.items()}


def _text(value: str | bytes) -> str:
    return value.decode() if isinstance(value, bytes) else value


def _empty(kind: object, shape: tuple[int, ...], dtype: object) -> Any:
    """What a pickle fills with an array's bytes; NumPy's own function makes arrays of any size."""
    if shape != (0,):
        raise pickle.UnpicklingError(f"an array begins with shape {shape}")
    return np.empty(0, np.uint8)


def _encode(text: str, encoding: str) -> bytes:
    """Bytes, as Python 3 writes them for Python 2."""
    if encoding not in ("latin1", "latin-1"):
        raise pickle.UnpicklingError(f"bytes are written as {encoding}")
    return text.encode("latin1")


_ALLOWED: Mapping[tuple[str, str], Any] = {
    ("numpy.core.multiarray", "_reconstruct"): _empty,
    ("numpy._core.multiarray", "_reconstruct"): _empty,
    ("numpy", "ndarray"): "ndarray",  # an argument of _reconstruct only
    ("numpy", "dtype"): np.dtype,
    ("_codecs", "encode"): _encode,
}


class _Unpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        try:
            return _ALLOWED[module, name]
        except KeyError:
            raise pickle.UnpicklingError(f"it asks for {module}.{name}") from None


def _require_small(where: object, size: int) -> None:
    if size > _MAX_BYTES:
        raise DatasetError(
            f"{where} is {size:,} bytes, more than the {_MAX_BYTES:,} allowed: {_REMEDY}."
        )
