"""Pictures that come as one array, from an .npz or from CIFAR-10's files."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
from PIL import Image

from ganboard.gan.data import npz
from ganboard.gan.data.archive import Limits, SafeZip
from ganboard.gan.data.dataset import DatasetError, Images, Labels
from ganboard.gan.data.decoding import Decoded, fitted
from ganboard.gan.data.pictures.labels import Classes, require_few

# an array is held in memory while the cache is made
LIMITS = Limits(1 << 30, 2 << 30, 1 << 30, 1000)
_PAIRS = (("images", "labels"), ("x_train", "y_train"))


class Files(Protocol):
    """Files that hold all pictures as one array."""

    path: Path

    def shape(self) -> tuple[int, ...]:
        """[N, H, W] or [N, H, W, C]. Raises DatasetError."""

    def stamp(self) -> Iterator[str]: ...

    def labels(self) -> tuple[Labels | None, Classes]: ...

    def images(self) -> Images: ...


class Source:
    """A `gan.data.pictures.sources.Source` of an array, which is read when the first picture is."""

    light = False

    def __init__(self, held: Files) -> None:
        self.path = held.path
        self._held = held
        self._shape = held.shape()
        if len(self._shape) not in (3, 4) or self._shape[3:] not in ((), (1,), (3,)):
            raise DatasetError(
                f"{self.path} holds pictures of shape {self._shape}: they must be [N, H, W], or"
                " [N, H, W, C] with 1 or 3 channels."
            )
        if not all(self._shape):
            raise DatasetError(f"{self.path} holds no pictures: copy it again from its origin.")
        self._images: Images | None = None
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return self._shape[0]

    def stamp(self) -> Iterator[str]:
        yield from self._held.stamp()

    def labels(self) -> tuple[Labels | None, Classes]:
        return self._held.labels()

    def picture(self, i: int, side: int, channels: int) -> Decoded:
        with self._lock:
            if self._images is None:
                self._images = self._held.images()
        pixels = self._images[i]
        image = Image.fromarray(pixels[..., 0] if pixels.shape[2:] == (1,) else pixels)
        return Decoded(fitted(image.convert("L" if channels == 1 else "RGB"), side), image.size)

    def close(self) -> None:
        self._images = None


class Npz:
    """`images` and `labels`, or x_train and y_train, in an .npz; labels may be absent."""

    def __init__(self, path: Path) -> None:
        self.path = path
        with SafeZip(path, LIMITS) as archive:
            self._members = {
                name.removesuffix(".npy"): (info.file_size, info.CRC)
                for name, info in archive.members.items()
            }
        pair = next((pair for pair in _PAIRS if pair[0] in self._members), None)
        if pair is None:
            held = ", ".join(sorted(self._members)[:10]) or "nothing"
            raise DatasetError(
                f"{path} has no array images or x_train (it holds {held}): save it with"
                " numpy.savez_compressed(path, images=..., labels=...)."
            )
        self._pair = pair

    def shape(self) -> tuple[int, ...]:
        return npz.shape(self.path, self._pair[0], LIMITS)

    def stamp(self) -> Iterator[str]:
        for name in self._pair:
            if name in self._members:
                yield f"{name}\0{self._members[name]}"

    def labels(self) -> tuple[Labels | None, Classes]:
        name = self._pair[1]
        if name not in self._members:
            return None, ()
        found = npz.read(self.path, name, LIMITS)
        count = self.shape()[0]
        if found.shape not in ((count,), (count, 1)):
            raise DatasetError(
                f"{self.path} holds {count:,} pictures and {name} of shape {found.shape}: there"
                " must be one label for each picture."
            )
        return _numbered(found.reshape(-1), f"{self.path}: array {name}")

    def images(self) -> Images:
        found = npz.read(self.path, self._pair[0], LIMITS)
        if found.dtype != np.uint8:
            raise DatasetError(
                f"{self.path} holds {found.dtype} pictures: save them as uint8 with levels 0 to"
                " 255."
            )
        return found


def _numbered(values: npt.NDArray[Any], where: str) -> tuple[Labels, Classes]:
    found, labels = np.unique(values, return_inverse=True)
    classes = [str(value) for value in found]
    require_few(classes, where)
    return labels.astype(np.int64), tuple(classes)
