"""Where pictures come from: a folder, a zip, an .npz, or CIFAR-10's files. Light until pixels are
read."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Protocol

from ganboard.gan.data.archive import Limits, SafeZip
from ganboard.gan.data.dataset import DatasetError, Labels, reading
from ganboard.gan.data.decoding import MAX_BYTES, REMEDY, Decoded, convert, require_small
from ganboard.gan.data.images import names_of_pictures, resolve
from ganboard.gan.data.pictures import arrays, cifar, labels
from ganboard.gan.data.pictures.labels import Classes

MAX_PICTURES = 2_000_000
# members are read one by one, so that only one of them is ever in memory
ZIP_LIMITS = Limits(1 << 40, 1 << 42, MAX_BYTES, MAX_PICTURES)
SUFFIXES = (".zip", ".npz", ".gz")
KINDS = "folder, .zip, .npz or CIFAR-10 .tar.gz"


class Source(Protocol):
    """Pictures in a fixed order, of which `picture` makes one, in any thread, inside
    `decoding.quiet`."""

    path: Path
    light: bool  # whether one picture can be made without reading all of them

    def __len__(self) -> int: ...

    def stamp(self) -> Iterator[str]:
        """Lines that change when the pictures do: names, sizes, and times or checksums."""

    def labels(self) -> tuple[Labels | None, Classes]:
        """Class of each picture [n], and what the classes are called. Raises DatasetError."""

    def picture(self, i: int, side: int, channels: int) -> Decoded:
        """Picture number `i` as uint8 [side, side, channels]. Raises DatasetError."""

    def close(self) -> None: ...


def source(data_dir: Path, path: str) -> Source:
    """What `path` names inside `data_dir`; to be closed. Raises DatasetError."""
    found = resolve(data_dir, path, SUFFIXES, KINDS)
    if found.is_dir():
        is_cifar = cifar.is_folder(found)
        return arrays.Source(cifar.Files(found)) if is_cifar else Folder(found, data_dir)
    if found.suffix.lower() == ".zip":
        return Zip(found)
    is_npz = found.suffix.lower() == ".npz"
    return arrays.Source(arrays.Npz(found) if is_npz else cifar.Files(found))


class Folder:
    """The PNG and JPEG files of a folder and its sub-folders, in the plain order of their names."""

    light = True

    def __init__(self, path: Path, data_dir: Path) -> None:
        self.path = path
        self._root = data_dir.resolve()
        names: list[str] = []
        with reading(path, "check its permissions"):
            for name in _walk(path, ""):
                names.append(name)
                if len(names) > MAX_PICTURES:
                    raise DatasetError(
                        f"{path} holds more than the {MAX_PICTURES:,} files allowed: name a smaller"
                        " folder."
                    )
        self.names = names_of_pictures(names, path)
        self._has_table = labels.TABLE in names

    def __len__(self) -> int:
        return len(self.names)

    def stamp(self) -> Iterator[str]:
        for name in [*self.names, *([labels.TABLE] if self._has_table else [])]:
            file = os.path.join(self.path, name)
            with reading(repr(file), REMEDY):
                found = os.stat(file)
            yield f"{name}\0{found.st_size}\0{found.st_mtime_ns}"

    def labels(self) -> tuple[Labels | None, Classes]:
        if not self._has_table:
            return labels.of_folders(self.names)
        table = self.path / labels.TABLE
        with reading(table, "check its permissions"):
            self._require_inside(table)
            _require_table(table.stat().st_size, table)
            text = table.read_bytes()
        return labels.of_table(text, self.names, str(table))

    def picture(self, i: int, side: int, channels: int) -> Decoded:
        file = self.path / self.names[i]
        what = repr(str(file))
        with reading(what, REMEDY):
            self._require_inside(file)
            require_small(what, file.stat().st_size)
            data = file.read_bytes()
        return convert(data, what, side, channels)

    def close(self) -> None:
        """Nothing is kept open."""

    def _require_inside(self, file: Path) -> None:
        if not file.is_file() or (
            file.is_symlink() and not file.resolve().is_relative_to(self._root)
        ):
            raise DatasetError(
                f"{str(file)!r} is not a file, or is a link that leaves the data directory"
                f" {self._root}: {REMEDY}."
            )


class Zip:
    """The PNG and JPEG members of a zip, in the plain order of their names."""

    light = True

    def __init__(self, path: Path) -> None:
        self.path = path
        self._archive = SafeZip(path, ZIP_LIMITS)
        try:
            self.names = names_of_pictures(self._archive.members, path)
        except DatasetError:
            self.close()
            raise
        self._lock = threading.Lock()  # one file is read, by one thread at a time

    def __len__(self) -> int:
        return len(self.names)

    def stamp(self) -> Iterator[str]:
        for name in [*self.names, *self._tables()]:
            member = self._archive.members[name]
            yield f"{name}\0{member.file_size}\0{member.CRC:x}"

    def labels(self) -> tuple[Labels | None, Classes]:
        for name in self._tables():
            folder = name.removesuffix(labels.TABLE)
            where = f"{self.path}: member {name!r}"
            _require_table(self._archive.members[name].file_size, where)
            seen = [picture.removeprefix(folder) for picture in self.names]
            return labels.of_table(self._archive.read(name), seen, where)
        return labels.of_folders(self.names)

    def picture(self, i: int, side: int, channels: int) -> Decoded:
        name = self.names[i]
        what = f"{self.path}: member {name!r}"
        require_small(what, self._archive.members[name].file_size)
        with self._lock:
            data = self._archive.read(name)
        return convert(data, what, side, channels)

    def close(self) -> None:
        self._archive.__exit__(None, None, None)

    def _tables(self) -> Sequence[str]:
        """The table of labels, at the top or in the folder around everything."""
        first = self.names[0].partition("/")[0] + "/"
        around = all(name.startswith(first) for name in self.names)
        places = [labels.TABLE, *([first + labels.TABLE] if around else [])]
        return [name for name in places if name in self._archive.members][:1]


def _walk(folder: Path, prefix: str) -> Iterator[str]:
    """Names of all files below; linked folders are not entered."""
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                yield from _walk(Path(entry.path), f"{prefix}{entry.name}/")
            else:
                yield prefix + entry.name


def _require_table(size: int, where: object) -> None:
    if size > labels.MAX_TABLE:
        raise DatasetError(
            f"{where} is {size:,} bytes, more than the {labels.MAX_TABLE:,} allowed for a table of"
            " labels: a line needs only a file name and a label."
        )
