"""A person's own pictures: a folder or zip of PNG and JPEG files inside the data directory.

`load` makes what DCGAN learns from, grey 28x28 in memory; `gan.data.pictures` makes larger and
coloured ones, in a cache on disk.
"""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import closing, suppress
from functools import partial
from pathlib import Path, PurePosixPath

import numpy as np

from ganboard.gan.data.archive import MAX_MEMBERS, SafeZip
from ganboard.gan.data.dataset import SIDE, Dataset, DatasetError, Images, reading
from ganboard.gan.data.decoding import REMEDY, decode, opened, quiet, require_small

_SUFFIXES = (".png", ".jpg", ".jpeg")


def load(
    data_dir: Path, images_path: str, limit: int | None, *, skip_unreadable: bool = False
) -> Dataset:
    """The first `limit` pictures in the plain order of their names (10.png before 9.png) as
    `decode` makes them.

    Raises DatasetError: for the first that cannot be read, or with `skip_unreadable`, which leaves
    those out, when none can be read.
    """
    path = resolve(data_dir, images_path)
    images: list[Images] = []
    skipped: list[str] = []
    with closing(_files(path, data_dir)) as files:
        for what, read in files:
            if len(images) == limit:
                break
            try:
                images.append(decode(read(), what))
            except DatasetError as error:
                if not skip_unreadable:
                    raise
                skipped.append(str(error))
    if not images:
        raise DatasetError(f"{nothing(len(skipped), path)} The first: {skipped[0]}")
    how = f"turned grey, cropped to the middle square and scaled to {SIDE}x{SIDE}"
    source = f"{len(images):,} pictures from {path}, {how}."
    return Dataset(np.stack(images)[..., np.newaxis], None, source, tuple(skipped))


def nothing(number: int, path: object) -> str:
    """Why a set whose pictures are all unreadable is refused."""
    return f"None of the {number:,} pictures in {path} can be read: put PNG or JPEG files there."


def skipped(reasons: Sequence[str]) -> str:
    """What a person should know of the pictures that were left out, given why each was."""
    subject = "One picture was" if len(reasons) == 1 else f"{len(reasons):,} pictures were"
    return f"{subject} left out (skip_unreadable). The first: {reasons[0]}"


def headed(data_dir: Path, images_path: str) -> tuple[int, int]:
    """How many pictures have a header that `load` with `skip_unreadable` takes, and how many there
    are.

    Damage behind a header shows only in `load`. Raises DatasetError.
    """
    path = resolve(data_dir, images_path)
    if path.is_dir():
        files = [path / name for name in _in_folder(path, data_dir)]
        return sum(has_header(file, repr(str(file))) for file in files), len(files)
    with SafeZip(path) as archive:
        names = names_of_pictures(archive.members, path)
        found = 0
        for name in names:
            with suppress(DatasetError):
                data = io.BytesIO(_member(archive, path, name))
                found += has_header(data, f"{path}: member {name!r}")
        return found, len(names)


def has_header(file: Path | io.BytesIO, what: str) -> bool:
    try:
        if isinstance(file, Path):
            with reading(what, REMEDY):
                require_small(what, file.stat().st_size)
        with quiet(), opened(file, what) as image:
            image.close()
    except DatasetError:
        return False
    return True


def count(data_dir: Path, images_path: str) -> int:
    """Pictures that `load` would read, by their names alone; raises DatasetError."""
    path = resolve(data_dir, images_path)
    if path.is_dir():
        return len(_in_folder(path, data_dir))
    with SafeZip(path) as archive:
        return len(names_of_pictures(archive.members, path))


def resolve(
    data_dir: Path,
    images_path: str,
    suffixes: tuple[str, ...] = (".zip",),
    kinds: str = "folder or zip",
) -> Path:
    """The folder, or file with one of these `suffixes`, that `images_path` names inside `data_dir`,
    links followed.

    Raises DatasetError when it leads elsewhere.
    """
    name = f"images_path={images_path!r}"
    given = PurePosixPath(images_path)
    if (
        given.is_absolute()
        or ".." in given.parts
        or set(images_path) & set("\\\0")
        or images_path[1:2] == ":"
    ):
        raise DatasetError(
            f"{name} must be relative to the data directory {data_dir}, without '..', drive,"
            " backslash or NUL."
        )
    with reading(name, f"name a {kinds} inside {data_dir}"):
        root = data_dir.resolve()
        path = (root / given).resolve()
        if not path.is_relative_to(root):
            raise DatasetError(
                f"{name} is a link that leaves the data directory {data_dir}: copy the data"
                " into it."
            )
        if path.is_dir() or (path.is_file() and path.suffix.lower() in suffixes):
            return path
        raise FileNotFoundError(f"there is no such {kinds}")


def _files(path: Path, data_dir: Path) -> Generator[tuple[str, Callable[[], bytes]]]:
    """Name for messages of each picture, and what reads its content, to be called before the
    next."""
    if path.is_dir():
        for name in _in_folder(path, data_dir):
            file = path / name
            yield repr(str(file)), partial(_read, file)
        return
    with SafeZip(path) as archive:
        for name in names_of_pictures(archive.members, path):
            yield f"{path}: member {name!r}", partial(_member, archive, path, name)


def _read(file: Path) -> bytes:
    what = repr(str(file))
    with reading(what, REMEDY):
        require_small(what, file.stat().st_size)
        return file.read_bytes()


def _member(archive: SafeZip, path: Path, name: str) -> bytes:
    require_small(f"{path}: member {name!r}", archive.members[name].file_size)
    return archive.read(name)


def _in_folder(path: Path, data_dir: Path) -> list[str]:
    root = data_dir.resolve()
    names = []

    def fail(error: OSError) -> None:
        raise error  # os.walk would leave out a folder it may not read, without a word

    with reading(path, "check its permissions"):
        for folder, _, files in os.walk(path, onerror=fail):
            names += [(Path(folder) / file).relative_to(path).as_posix() for file in files]
            if len(names) > MAX_MEMBERS:
                raise DatasetError(
                    f"{path} holds more than the {MAX_MEMBERS:,} files allowed: name a smaller"
                    " folder."
                )
    pictures = names_of_pictures(names, path)
    for name in pictures:
        file = path / name
        if not file.is_file() or (file.is_symlink() and not file.resolve().is_relative_to(root)):
            raise DatasetError(
                f"{str(file)!r} is not a file, or is a link that leaves the data directory"
                f" {data_dir}: {REMEDY}."
            )
    return pictures


def names_of_pictures(names: Iterable[str], path: Path) -> list[str]:
    """The names that are pictures, sorted; hidden files, __MACOSX and other kinds are left out.
    Raises DatasetError when none is left."""
    names = list(names)
    kept = [name for name in names if name.lower().endswith(_SUFFIXES) and not _hidden(name)]
    if not kept:
        raise DatasetError(
            f"{path} contains no pictures (files skipped: {len(names):,}): put .png, .jpg or .jpeg"
            " files into it."
        )
    return sorted(kept)


def _hidden(name: str) -> bool:
    return "/." in f"/{name}" or "/__MACOSX/" in f"/{name}"
