"""Arrays that are costly to make, kept in one verified file. Free of TensorFlow."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from filelock import FileLock

from ganboard.gan import files

Arrays = Mapping[str, npt.NDArray[Any]]

_DIGEST = "digest"


def kept(path: Path, make: Callable[[], Arrays]) -> tuple[Arrays, list[str]]:
    """The arrays in `path`, or else those of `make`, which are then kept there; with sentences
    about what a person should know.

    A file that is not whole is made again. Of several processes that ask at once one makes, the
    others wait and read. Where nothing can be written the arrays are made each time. `make` may
    raise: then nothing is left behind.
    """
    remarks: list[str] = []
    with ExitStack() as stack:
        # Where no lock can be had nothing can be written either, or two processes make the same:
        # both end well, and the write says why
        with suppress(OSError):
            path.parent.mkdir(parents=True, exist_ok=True)
            stack.enter_context(FileLock(path.with_suffix(".lock")))
        try:
            return _read(path), remarks
        except (FileNotFoundError, NotADirectoryError):
            pass
        # Damage shows in many ways: numpy and zipfile raise far more kinds of error than they
        # document
        except Exception as error:
            remarks.append(
                f"{path} cannot be used and is recreated"
                f" ({' '.join(str(error).split())[:200] or type(error).__name__})."
            )
        arrays = make()
        try:
            _write(path, arrays)
        except OSError as error:
            reason = error.strerror or error
            remarks.append(
                f"{path} could not be written ({reason}), so every run recreates it. Check space"
                f" and permissions of {path.parent}."
            )
        return arrays, remarks


def _read(path: Path) -> Arrays:
    with path.open("rb") as opened, np.load(opened, allow_pickle=False) as file:
        arrays = {name: file[name] for name in file.files}
    if str(arrays.pop(_DIGEST)) != _digest(arrays):
        raise ValueError("its digest does not match")
    return arrays


def _write(path: Path, arrays: Arrays) -> None:
    with files.whole_file(path, durable=False) as file:
        np.savez(file, allow_pickle=False, **{_DIGEST: np.array(_digest(arrays))}, **arrays)


def _digest(arrays: Arrays) -> str:
    whole = hashlib.sha256()
    for name in sorted(arrays):
        array = np.ascontiguousarray(arrays[name])
        whole.update(f"{name} {array.dtype.str} {array.shape} ".encode() + array.tobytes())
    return whole.hexdigest()
