"""Decoded pictures in one verified folder, made once and shared by all runs.

A folder `DIGEST-64x64x3` has `images.npy` [N, side, side, C] uint8, `labels.npy` [N] int64 where
there are labels, and `manifest.json`. Its digest is over all that the pixels depend on.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
from filelock import FileLock, Timeout

from ganboard.gan import files
from ganboard.gan.data.dataset import DatasetError, Labels
from ganboard.gan.data.pictures.decoder import Decoder
from ganboard.gan.data.pictures.rows import Rows
from ganboard.gan.data.pictures.sources import Source
from ganboard.gan.data.progress import Progress

VERSION = 1  # of the procedure: raise it with any change of the pixels that a picture gives
FOLDER = ".cache/pictures"  # in the data directory, where no data set is looked for
TEMPORARY = ".tmp"
MANIFEST = "manifest.json"

# what reading a damaged cache raises
DAMAGE = (ValueError, TypeError, KeyError, AttributeError, EOFError)

_IMAGES = "images.npy"
_LABELS = "labels.npy"
_SPARE = 1 << 20  # bytes beside the pixels
_SIZES = 20  # of the originals, that are named
_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
_elsewhere: list[Callable[[Path], None]] = []


@dataclass(frozen=True)
class Manifest:
    """What a cache holds."""

    shape: tuple[int, ...]
    images: str  # SHA-256 of the pixels
    labels: str  # SHA-256 of the labels, empty if there are none
    classes: tuple[str, ...]
    sizes: tuple[tuple[int, int], ...]  # of the originals: different ones, the most usual first
    different: int  # how many sizes there are in all
    skipped: tuple[str, ...]  # why each picture that cannot be read was left out

    @property
    def digest(self) -> str:
        """SHA-256 of what a run learns from."""
        named = json.dumps([self.shape, self.images, self.labels])
        return hashlib.sha256(named.encode()).hexdigest()


@dataclass(frozen=True, eq=False)
class Cached:
    """An open cache, every byte of it verified."""

    images: Rows
    labels: Labels | None
    manifest: Manifest
    remarks: tuple[str, ...]  # what a person should know


def path_of(cache_dir: Path, source: Source, side: int, channels: int) -> Path:
    """Where the cache of these pictures lies, or will. Raises DatasetError."""
    whole = hashlib.sha256(f"{VERSION} {side} {channels}\n".encode())
    for line in source.stamp():
        whole.update(f"{line}\n".encode(errors="surrogateescape"))
    return cache_dir / f"{whole.hexdigest()[:24]}-{side}x{side}x{channels}"


def count(path: Path) -> int | None:
    """Pictures in the cache `path`, from its manifest alone; None where there is none."""
    try:
        return _manifest(path).shape[0]
    except (OSError, ValueError, TypeError, KeyError):
        return None


def look_elsewhere(bring: Callable[[Path], None]) -> None:
    """Before this process makes a cache, let `bring` put it there if it can; what it brings is
    verified, and it raises nothing."""
    _elsewhere[:] = [bring]


def parts(path: Path) -> tuple[str, ...]:
    """The files of a cache beside its manifest. Raises OSError and DAMAGE."""
    return (_IMAGES, _LABELS) if _manifest(path).labels else (_IMAGES,)


def obtain(path: Path, source: Source, side: int, channels: int, progress: Progress) -> Cached:
    """The cache `path`, made of `source` where it is not there or not whole.

    Of several processes that ask at once one makes it, the others wait. Raises DatasetError when
    no picture can be read or the disk refuses, and whatever `progress` raises: then nothing is left
    behind.
    """
    remarks: tuple[str, ...] = ()
    with ExitStack() as stack:
        with _disk(path, 0):
            path.parent.mkdir(parents=True, exist_ok=True)
        # where no lock can be had nothing can be written either, and the write says why
        with suppress(OSError):
            stack.enter_context(_alone(path, progress))
        if _elsewhere and not path.exists():
            progress(0, "looking into the artifact store", None)
            _elsewhere[0](path)
        if path.exists():
            progress(0, "verifying the cache", None)
            try:
                return opened(path)
            # damage shows in many ways
            except Exception as error:
                reason = " ".join(str(error).split())[:200].rstrip(".") or type(error).__name__
                remarks = (f"{path} cannot be used and is made again ({reason}).",)
                files.remove(path)
        _make(path, Decoder(source, side, channels, progress))
        return opened(path, remarks)


@contextmanager
def _alone(path: Path, progress: Progress) -> Iterator[None]:
    """As the only process that makes or frees this cache."""
    lock = FileLock(path.with_name(f"{path.name}.lock"))
    while True:
        try:
            lock.acquire(timeout=1)
            break
        except Timeout:
            progress(0, "waiting for another run that makes the same cache", None)
    try:
        yield
    finally:
        lock.release()


def opened(path: Path, remarks: tuple[str, ...] = ()) -> Cached:
    """A cache, every byte of it verified. Raises OSError and DAMAGE."""
    manifest = _manifest(path)
    images = Rows(path / _IMAGES)
    if images.shape != manifest.shape:
        raise ValueError(f"it holds pictures of shape {images.shape}, not {manifest.shape}")
    if images.measure() != manifest.images:
        raise ValueError(f"the digest of {_IMAGES} does not match")
    labels: Labels | None = None
    if manifest.labels:
        if files.measure(path / _LABELS)[1] != manifest.labels:
            raise ValueError(f"the digest of {_LABELS} does not match")
        labels = np.load(path / _LABELS, allow_pickle=False)
    with suppress(OSError):  # when it was last used; another's cache is used all the same
        os.utime(path / MANIFEST)
    return Cached(images, labels, manifest, remarks)


def _manifest(path: Path) -> Manifest:
    with files.open_plain(path / MANIFEST) as file:
        found = json.loads(file.read())
    if found.pop("checksum") != _checksum(found):
        raise ValueError(f"the checksum of {MANIFEST} does not match")
    return Manifest(
        tuple(found["shape"]),
        found["images"],
        found["labels"],
        tuple(found["classes"]),
        tuple((width, height) for width, height in found["sizes"]),
        found["different"],
        tuple(found["skipped"]),
    )


def _make(path: Path, decoder: Decoder) -> None:
    labels, classes = decoder.source.labels()
    needed = len(decoder.source) * int(np.prod(decoder.shape)) + _SPARE
    draft = path.with_name(path.name + TEMPORARY)
    with _disk(path, needed):
        if shutil.disk_usage(path.parent).free < needed:
            raise OSError(errno.ENOSPC, "full")
        with files.whole_folder(path, draft):
            shape, pixels = _write_pixels(draft / _IMAGES, decoder)
            if labels is not None:
                with files.flushed(draft / _LABELS) as file:
                    np.save(file, labels[np.array(decoder.kept, np.int64)], allow_pickle=False)
            manifest = Manifest(
                shape,
                pixels,
                "" if labels is None else files.measure(draft / _LABELS)[1],
                classes,
                tuple(size for size, _ in decoder.sizes.most_common(_SIZES)),
                len(decoder.sizes),
                tuple(decoder.skipped),
            )
            facts = asdict(manifest)
            with files.flushed(draft / MANIFEST) as file:
                file.write(json.dumps({**facts, "checksum": _checksum(facts)}).encode())


def _write_pixels(path: Path, decoder: Decoder) -> tuple[tuple[int, ...], str]:
    """Shape and SHA-256 of the pixels that were written to `path`."""
    whole = hashlib.sha256()
    with files.flushed(path) as file:
        _write_header(file, (len(decoder.source), *decoder.shape))
        for pixels in decoder.run():
            file.write(pixels.data)
            whole.update(pixels.data)
        # the number of rows is known now; the header's length is the same, since NumPy leaves room
        # for it
        shape = (len(decoder.kept), *decoder.shape)
        file.seek(0)
        _write_header(file, shape)
    return shape, whole.hexdigest()


def _checksum(facts: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()


def _write_header(file: IO[bytes], shape: tuple[int, ...]) -> None:
    kind = {"descr": "|u1", "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(file, kind)


@contextmanager
def _disk(path: Path, needed: int) -> Iterator[None]:
    """Turns what the disk refuses into one DatasetError; the cache needs `needed` bytes."""
    try:
        yield
    except OSError as error:
        if error.errno in _FULL:
            free = shutil.disk_usage(path.parent).free
            raise DatasetError(
                f"The cache of decoded pictures needs {needed:,} bytes in {path.parent}, where"
                f" {free:,} are free: free some, delete unused caches with `ganboard doctor --fix`,"
                " or choose a smaller image_size."
            ) from error
        raise DatasetError(
            f"The cache of decoded pictures cannot be written to {path.parent}"
            f" ({error.strerror or error}): grant write permission to the user who runs ganboard."
        ) from error
