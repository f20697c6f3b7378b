"""The training images nearest to a generated one, by brute force over pixels. Free of
TensorFlow."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ganboard.gan.data.dataset import Images

Pixels = npt.NDArray[np.float32]

MAX_SEARCHED = 100_000  # images; searching them takes half a second
_CHUNK = 8192  # images compared at a time: 25 MB as float32
_SAMPLE = 64  # training images by which `spacing` is estimated


def nearest(
    images: Pixels, data: Images, k: int
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float64]]:
    """For each of `images` [q, H, W, C] in [-1, 1] the min(k, N) nearest of `data` [N, H, W, C]:
    positions and distances [q, k], ascending.

    The distance is the Euclidean one over all pixels, grey levels from 0 to 1: 0 is a copy,
    sqrt(784) = 28 is black against white.
    """
    wanted = images.reshape(len(images), -1) * np.float32(0.5) + np.float32(0.5)
    k = min(k, len(data))
    found = np.empty((len(images), 0), np.int64)
    # squared distances, less the part that all candidates share
    near = np.empty((len(images), 0), np.float32)
    for start in range(0, len(data), _CHUNK):
        candidates = _pixels(data[start : start + _CHUNK])
        squares = (candidates * candidates).sum(1) - 2 * wanted @ candidates.T
        near = np.concatenate([near, squares], 1)
        positions = np.broadcast_to(np.arange(start, start + len(candidates)), squares.shape)
        found = np.concatenate([found, positions], 1)
        best = (
            np.argpartition(near, k - 1, axis=1)[:, :k]
            if near.shape[1] > k
            else np.arange(near.shape[1])[None].repeat(len(near), 0)
        )
        near, found = np.take_along_axis(near, best, 1), np.take_along_axis(found, best, 1)
    exact = np.linalg.norm(
        _pixels(data[found.ravel()]).reshape(*found.shape, -1).astype(np.float64) - wanted[:, None],
        axis=-1,
    )
    order = np.argsort(exact, axis=1, kind="stable")
    return np.take_along_axis(found, order, 1), np.take_along_axis(exact, order, 1)


def spacing(data: Images) -> float | None:
    """Median distance from a training image to the nearest other one, from a sample: the scale for
    `nearest`. None for a single image."""
    if len(data) < 2:
        return None
    sample = data[np.linspace(0, len(data) - 1, min(_SAMPLE, len(data))).astype(np.int64)]
    _, distances = nearest(_pixels(sample).reshape(sample.shape) * 2 - 1, data, 2)
    return float(np.median(distances[:, 1]))


def _pixels(data: Images) -> Pixels:
    """[N, H * W * C] in [0, 1]."""
    pixels: Pixels = data.reshape(len(data), -1).astype(np.float32) / np.float32(255)
    return pixels
