"""Zip files from strangers, read member by member under limits. Nothing is ever unpacked to
disk."""

from __future__ import annotations

import stat
import struct
import zipfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from types import TracebackType
from typing import BinaryIO

from ganboard.gan.data.dataset import DatasetError, reading

MAX_COMPRESSED = 64 << 20  # bytes of the whole file
MAX_EXPANDED = 2 << 30  # bytes of all members together
MAX_MEMBER = 512 << 20  # bytes of one member: it is held in memory
MAX_RATIO = 100
MAX_MEMBERS = 200_000

CHUNK = 1 << 20  # bytes read together

_LOCAL_HEADER = 30  # bytes before the name
_REMEDY = "download it again, or repack it as an ordinary zip"


@dataclass(frozen=True)
class Limits:
    """How much a zip may hold, in bytes and in members."""

    compressed: int
    expanded: int
    member: int
    members: int


class SafeZip:
    """A zip whose directory has passed every check; `members` are its files by name, in the order
    of the directory.

    Raises DatasetError that names the archive, the member and the limit.
    """

    def __init__(self, path: Path, limits: Limits | None = None) -> None:
        self.path = path
        self._limits = limits or Limits(MAX_COMPRESSED, MAX_EXPANDED, MAX_MEMBER, MAX_MEMBERS)
        with reading(path, _REMEDY):
            self._file = path.open("rb")
            try:
                self._zip = self._open()
                self.members = self._checked(self._zip.infolist())
            except BaseException:
                self._file.close()
                raise

    def __enter__(self) -> SafeZip:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._zip.close()
        self._file.close()

    def read(self, name: str) -> bytes:
        """The bytes of one member, counted while inflating and verified against its CRC."""
        info = self.members[name]
        with reading(f"{self.path}: member {name!r}", _REMEDY), self._zip.open(info) as member:
            data = member.read(info.file_size + 1)
            if len(data) != info.file_size:
                raise zipfile.BadZipFile(
                    f"it expands to {len(data)} bytes, but declares {info.file_size}"
                )
            return data

    def chunks(self, name: str) -> Iterator[bytes]:
        """The bytes of one member, a MiB at a time, counted while inflating and verified against
        its CRC."""
        info, left = self.members[name], self.members[name].file_size
        with reading(f"{self.path}: member {name!r}", _REMEDY), self._zip.open(info) as member:
            while chunk := member.read(CHUNK):
                left -= len(chunk)
                yield chunk
            if left:
                raise zipfile.BadZipFile(
                    f"it expands to {info.file_size - left} bytes, but declares {info.file_size}"
                )

    def head(self, name: str, size: int) -> bytes:
        """The first `size` bytes of one member."""
        with (
            reading(f"{self.path}: member {name!r}", _REMEDY),
            self._zip.open(self.members[name]) as member,
        ):
            return member.read(size)

    def _open(self) -> zipfile.ZipFile:
        size = self.path.stat().st_size
        if size > self._limits.compressed:
            raise self._refused(
                f"is {size:,} bytes, more than the {self._limits.compressed:,} allowed for a zip;"
                " unpack it and use the folder"
            )
        # zipfile builds an object for every member while it opens: a million of them must be
        # refused before that.
        if _directory_length(self._file, self._limits.members) > self._limits.members:
            raise self._refused(f"has more than {self._limits.members:,} members: split it")
        return zipfile.ZipFile(self._file)

    def _checked(self, infos: Iterable[zipfile.ZipInfo]) -> dict[str, zipfile.ZipInfo]:
        seen: set[str] = set()
        files: dict[str, zipfile.ZipInfo] = {}
        expanded = 0
        end = 0
        for info in sorted(infos, key=lambda info: info.header_offset):
            name = str(PurePosixPath(info.orig_filename))
            refusal = _refusal(info, self._limits.member)
            if refusal is None and name in seen:
                refusal = "occurs twice"
            if refusal is None and info.header_offset < end:
                refusal = "overlaps another member"
            if refusal:
                raise self._refused(
                    f"is refused because its member {info.orig_filename[:200]!r} {refusal}:"
                    f" {_REMEDY}"
                )
            seen.add(name)
            end = info.header_offset + _LOCAL_HEADER + info.compress_size
            expanded += info.file_size
            if expanded > self._limits.expanded:
                raise self._refused(
                    f"expands to more than the {self._limits.expanded:,} bytes allowed: split it"
                )
            if not info.is_dir():
                files[name] = info
        return files

    def _refused(self, why: str) -> DatasetError:
        return DatasetError(f"{self.path} {why}.")


def _refusal(info: zipfile.ZipInfo, most: int) -> str | None:
    """Why a member is not allowed, or None. The name is evaluated as written: zipfile's `filename`
    is already cut at a NUL."""
    name = info.orig_filename
    kind = stat.S_IFMT(info.external_attr >> 16)
    if (
        not name
        or name.startswith("/")
        or "\\" in name
        or "\0" in name
        or name[1:2] == ":"
        or ".." in name.split("/")
    ):
        return "has a name that is empty, absolute, or contains '..', a drive, a backslash or a NUL"
    if kind not in (0, stat.S_IFREG, stat.S_IFDIR):
        return "is a link or device"
    if info.flag_bits & 0x41:
        return "is encrypted"
    if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        return "is compressed with a method other than store or deflate"
    if info.file_size > most:
        return f"expands to {info.file_size:,} bytes, more than the {most:,} allowed"
    if info.file_size > MAX_RATIO * info.compress_size:
        return f"expands more than {MAX_RATIO} times"
    return None


def _directory_length(file: BinaryIO, most: int) -> int:
    """Members in the central directory that zipfile will read (its own search for it, so that both
    see the same), up to `most` + 1."""
    end = zipfile._EndRecData(file)  # type: ignore[attr-defined]
    if end is None:
        raise zipfile.BadZipFile("it is not a zip file")
    signature, size, location = end[0], end[5], end[9]
    position = start = location - size - (76 if signature == b"PK\x06\x06" else 0)
    count = 0
    while position < start + size and count <= most:
        file.seek(position)
        header = file.read(46)
        if len(header) < 46 or header[:4] != b"PK\x01\x02":
            raise zipfile.BadZipFile("its central directory is damaged")
        position += 46 + sum(struct.unpack_from("<HHH", header, 28))
        count += 1
    return count
