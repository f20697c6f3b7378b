"""Files that survive a power cut and are what they seem: writing, opening, measuring, removing."""

from __future__ import annotations

import hashlib
import os
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from io import BufferedReader, BufferedWriter
from pathlib import Path
from typing import IO


class NoFile(ValueError):
    """Something that is not an ordinary file; the message says what."""


def open_plain(path: Path) -> BufferedReader:
    """An ordinary file to read: no link to elsewhere, and no pipe that would be waited for. Raises
    NoFile, OSError."""

    def opener(name: str, flags: int) -> int:
        return os.open(name, flags | os.O_NOFOLLOW | os.O_NONBLOCK)

    file = open(path, "rb", opener=opener)  # noqa: SIM115
    if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        file.close()
        raise NoFile(f"{path.name} is not a file")
    return file


def measure(path: Path) -> tuple[int, str]:
    """Bytes and SHA-256 of a file. Raises NoFile, OSError."""
    with open_plain(path) as file:
        return measured(file)


def measured(file: BufferedReader) -> tuple[int, str]:
    """Bytes and SHA-256 of an open file, from its current position."""
    return os.fstat(file.fileno()).st_size, hashlib.file_digest(file, "sha256").hexdigest()


def remove(path: Path) -> None:
    """Delete a folder, a file or a link, as far as the disk lets us."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        with suppress(OSError):
            path.unlink()


@contextmanager
def flushed(path: Path) -> Iterator[BufferedWriter]:
    """A new file to write, which lies on the disk when the block ends."""
    with path.open("wb") as file:
        yield file
        flush(file)


@contextmanager
def whole_file(path: Path, *, mode: int = 0o666, durable: bool = True) -> Iterator[BufferedWriter]:
    """A file to write, which takes the place of `path` when the block ends; a block that fails
    leaves `path` as it was. `durable` flushes it first, and its name afterwards."""
    draft = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with open(draft, "wb", opener=lambda name, flags: os.open(name, flags, mode)) as file:
            yield file
            if durable:
                flush(file)
        draft.replace(path)
        if durable:
            flush_directory(path.parent)
    finally:
        draft.unlink(missing_ok=True)


@contextmanager
def whole_folder(path: Path, draft: Path) -> Iterator[None]:
    """A folder to fill at `draft`, with files that are `flushed`, which is renamed to `path` when
    the block ends and then lies on the disk; a block that fails leaves neither."""
    remove(draft)
    made = draft
    try:
        made.mkdir(parents=True)
        yield
        flush_directory(made)
        made = made.rename(path)
        flush_directory(path.parent)
    except BaseException:
        remove(made)
        raise


def flush(file: IO[bytes]) -> None:
    """What is written lies on the disk when this returns."""
    file.flush()
    os.fsync(file.fileno())


def flush_directory(path: Path) -> None:
    """The names in this folder lie on the disk when this returns."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def flush_above(directory: Path) -> None:
    """The names of all folders above, as far up as they are ours."""
    for folder in directory.parents:
        if not os.access(folder, os.W_OK):
            break  # created concurrently by another process
        flush_directory(folder)
