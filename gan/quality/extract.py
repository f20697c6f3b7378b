"""The interface of features, and taking them of images that may lie on disk. Free of TensorFlow."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from ganboard.gan.data.dataset import Images
from ganboard.gan.rng import philox
from ganboard.gan.settings.features import Source

Progress = Callable[[float], None]
Rows = npt.NDArray[np.integer[Any]]
Singles = npt.NDArray[np.float32]

_SEED = 0
_TOGETHER = 500  # images that are read at a time, of up to 64x64x3 pixels
_BYTES = _TOGETHER * 64 * 64 * 3


class Features(Protocol):
    """Turns images into vectors in which their distances mean something."""

    source: Source
    dimensions: int
    bound: int | None  # training images that `memorization` looks at; None: all
    remarks: list[str]  # sentences about their making that a person should read

    def __call__(self, images: Images) -> Singles:
        """Features [n, dimensions] of `images` [n, H, W, C]; those of an image do not depend on
        what comes with it."""


def order(count: int) -> npt.NDArray[np.int32]:
    """A fixed random order [count] of the images of a data set."""
    return philox.order(_SEED, 0, count)


def taken(
    features: Features, images: Images, rows: Rows, progress: Progress = lambda share: None
) -> Singles:
    """Features [n, dimensions] of those `rows` [n], ascending, of `images` [N, H, W, C], which may
    be an array on disk: a few are in memory at a time.

    `progress` is called with the finished share.
    """
    found = np.empty((len(rows), features.dimensions), np.float32)
    start = 0
    for part in portions(images, rows):
        progress(start / len(rows))
        found[start : start + len(part)] = features(part)
        start += len(part)
    return found


def portions(images: Images, rows: Rows) -> Iterator[Images]:
    """Those `rows` of `images` in their order, a few megabytes at a time."""
    together = max(1, min(_TOGETHER, _BYTES // max(1, images[:1].nbytes)))
    for start in range(0, len(rows), together):
        yield np.ascontiguousarray(images[rows[start : start + together]])


def digest(head: str, images: Images, rows: Rows, *others: npt.NDArray[Any]) -> str:
    """SHA-256, as 16 hexadecimal digits, of `head`, the shape of `images`, those `rows` of them,
    and other arrays."""
    whole = hashlib.sha256(f"{head} {images.shape} ".encode())
    for part in portions(images, rows):
        whole.update(part.tobytes())
    for array in others:
        whole.update(array.tobytes())
    return whole.hexdigest()[:16]
