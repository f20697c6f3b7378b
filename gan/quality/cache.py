"""Arrays that are costly to make, kept in one verified file. Free of TensorFlow."""

from __future__ import annotations

import fcntl
import hashlib
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

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
            stack.enter_context(_locked(path))
        try:
            return _read(path), remarks
        except (FileNotFoundError, NotADirectoryError):
            pass
        # Damage shows in many ways: numpy and zipfile raise far more kinds of error than they
        # document
        except Exception as error:
            remarks.append(
                f"{path} cannot be used and is made again"
                f" ({' '.join(str(error).split())[:200] or type(error).__name__})."
            )
        arrays = make()
        try:
            _write(path, arrays)
        except OSError as error:
            reason = error.strerror or error
            remarks.append(
                f"{path} could not be written ({reason}): every run makes it again; give"
                f" {path.parent} room and permission."
            )
        return arrays, remarks


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Alone with `path` among all processes of this machine; the kernel lets go when the process
    ends, however it ends."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.with_suffix(".lock").open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _read(path: Path) -> Arrays:
    with path.open("rb") as opened, np.load(opened, allow_pickle=False) as file:
        arrays = {name: file[name] for name in file.files}
    if str(arrays.pop(_DIGEST)) != _digest(arrays):
        raise ValueError("its digest does not fit")
    return arrays


def _write(path: Path, arrays: Arrays) -> None:
    temporary = path.with_name(f"{path.name}.{os.getpid()}.tmp")
    try:
        with temporary.open("wb") as file:
            np.savez(file, allow_pickle=False, **{_DIGEST: np.array(_digest(arrays))}, **arrays)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def _digest(arrays: Arrays) -> str:
    whole = hashlib.sha256()
    for name in sorted(arrays):
        array = np.ascontiguousarray(arrays[name])
        whole.update(f"{name} {array.dtype.str} {array.shape} ".encode() + array.tobytes())
    return whole.hexdigest()
