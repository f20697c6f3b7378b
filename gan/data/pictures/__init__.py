"""A person's pictures at the size and in the colours that a model asks for. Free of TensorFlow.

Folders (also with a class per sub-folder, or a `labels.csv`), zips of the same, .npz files and
CIFAR-10 are decoded once into a cache (`gan.data.pictures.cache`), from which all runs read.
"""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from ganboard.gan.data.dataset import DatasetError, Images, Labels
from ganboard.gan.data.pictures import cache, named, sources
from ganboard.gan.data.pictures.cache import Cached, Manifest
from ganboard.gan.data.pictures.limits import CHANNELS, MAX_SIDE, MIN_SIDE, require_shape, sampled
from ganboard.gan.data.pictures.rows import Rows
from ganboard.gan.data.pictures.sheet import Sheet, sheet
from ganboard.gan.data.progress import Progress, ignore

__all__ = [
    "MAX_SIDE",
    "MIN_SIDE",
    "Pictures",
    "Rows",
    "Sheet",
    "check",
    "count",
    "load",
    "load_named",
    "require_classes",
    "sheet",
]


@dataclass(frozen=True, eq=False)
class Pictures:
    """Pictures of equal size with levels 0 (black) to 255 (white), on disk."""

    images: Rows  # [N, side, side, C] uint8
    labels: Labels | None  # [N], from 0
    classes: tuple[str, ...]  # what the labels are called
    source: str  # one sentence: what the pictures are and where they were read
    skipped: tuple[str, ...]  # why each picture that cannot be read was left out
    remarks: tuple[str, ...]  # sentences for the person who trains
    digest: str  # SHA-256 of all pictures and labels, whatever the limit

    def __len__(self) -> int:
        return len(self.images)

    def first(self, limit: int | None) -> Pictures:
        """The first `limit` pictures, or all; nothing is read."""
        labels = None if self.labels is None else self.labels[:limit]
        return replace(self, images=self.images.head(limit), labels=labels)

    def sample(self, count: int) -> Images:
        """Up to `count` pictures [n, side, side, C] in memory, evenly over the set."""
        return self.images[sampled(len(self), count)]


def load(
    data_dir: Path,
    path: str,
    side: int,
    channels: int,
    *,
    limit: int | None = None,
    skip_unreadable: bool = False,
    cache_dir: Path | None = None,
    progress: Progress = ignore,
) -> Pictures:
    """The first `limit` pictures that `path` names in `data_dir`, as uint8 [side, side, channels]:
    upright, on white, the middle square, Lanczos.

    All are decoded, whatever `limit`, unless that was done before; the cache lies in `cache_dir`,
    by default inside the data directory. `progress` hears of the share done, what is done and the
    seconds left; what it raises ends the loading. Raises DatasetError.
    """
    require_shape(side, channels)
    with closing(sources.source(data_dir, path)) as source:
        found = _load(source, side, channels, cache_dir or data_dir / cache.FOLDER, progress)
        where = source.path
    if found.skipped and not skip_unreadable:
        every = len(found) + len(found.skipped)
        raise DatasetError(
            f"{len(found.skipped):,} of {every:,} pictures in {where} cannot be read. The first:"
            f" {found.skipped[0]}"
        )
    return found.first(limit)


def load_named(
    name: str,
    data_dir: Path,
    side: int,
    channels: int,
    *,
    limit: int | None = None,
    cache_dir: Path | None = None,
    progress: Progress = ignore,
) -> Pictures:
    """`load` for one of `named.NAMES`, downloaded into `data_dir` when it is not there yet. Raises
    DatasetError."""
    require_shape(side, channels)
    with closing(named.source(name, data_dir)) as source:
        folder = cache_dir or data_dir / cache.FOLDER
        return _load(source, side, channels, folder, progress).first(limit)


def count(
    data_dir: Path,
    path: str,
    side: int,
    channels: int,
    *,
    skip_unreadable: bool = False,
    cache_dir: Path | None = None,
) -> int:
    """Pictures that `load` would give without a limit: by the cache where there is one, else by
    names and headers alone, which damaged files count in. Raises DatasetError."""
    require_shape(side, channels)
    folder = cache_dir or data_dir / cache.FOLDER
    with closing(sources.source(data_dir, path)) as source:
        if skip_unreadable:
            made = cache.count(cache.path_of(folder, source, side, channels))
            return made or len(source)
        return len(source)


def check(data_dir: Path, path: str, side: int, channels: int, *, classes: bool = False) -> None:
    """Raises DatasetError when `load` would refuse the set before it reads any pixels: nothing
    there, labels that do not match, and with `classes` when there are fewer than two of them."""
    require_shape(side, channels)
    with closing(sources.source(data_dir, path)) as source:
        _, names = source.labels()
        if classes:
            require_classes(names, source.path)


def require_classes(classes: tuple[str, ...], path: object) -> None:
    """Raises DatasetError where there is nothing to be conditional on."""
    if len(classes) < 2:
        held = f"one class ({classes[0]})" if classes else "no classes"
        raise DatasetError(
            f"{path} has {held}, and a model conditional on the class needs two or more: put each"
            " class into a sub-folder, add a labels.csv, or choose a model without labels."
        )


def _load(
    source: sources.Source, side: int, channels: int, cache_dir: Path, progress: Progress
) -> Pictures:
    place = cache.path_of(cache_dir, source, side, channels)
    found = cache.obtain(place, source, side, channels, progress)
    return Pictures(
        found.images,
        found.labels,
        found.manifest.classes,
        _sentence(found.manifest, source.path),
        found.manifest.skipped,
        (*found.remarks, *_remarks(found)),
        found.manifest.digest,
    )


def _sentence(manifest: Manifest, path: Path) -> str:
    number, side, _, channels = manifest.shape
    kinds = f" of {len(manifest.classes):,} classes" if manifest.classes else ""
    return (
        f"{number:,} pictures{kinds} from {path}, in {CHANNELS[channels]}, cropped to the middle"
        f" square and scaled to {side}x{side}."
    )


def _remarks(found: Cached) -> list[str]:
    remarks = []
    side = found.manifest.shape[1]
    if found.manifest.different > 1:
        usual = ", ".join(f"{width}x{height}" for width, height in found.manifest.sizes[:3])
        remarks.append(
            f"The pictures have {found.manifest.different:,} different sizes, most often {usual}:"
            f" each was cropped to its middle square and scaled to {side}x{side}."
        )
    if found.labels is not None:
        counts = np.bincount(found.labels, minlength=len(found.manifest.classes))
        if empty := [name for name, n in zip(found.manifest.classes, counts, strict=True) if not n]:
            remarks.append(f"No picture of the class {empty[0]} can be read.")
    return remarks
