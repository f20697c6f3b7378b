"""The 1,797 handwritten digits that ship with scikit-learn: always there, offline."""

from __future__ import annotations

import numpy as np
from PIL import Image

from ganboard.gan.data.dataset import SIDE, Dataset, Images

COUNT = 1797
_BOX = 20  # MNIST too fits its digits into 20 x 20 and centres them by mass in 28 x 28
_MARGIN = (SIDE - _BOX) // 2


def load(limit: int | None) -> Dataset:
    """The first `limit` digits, their real 8 x 8 values 0..16 up-sampled to 20 x 20 (Pillow,
    bicubic) and centred in 28 x 28."""
    from sklearn.datasets import load_digits

    digits = load_digits()
    images = np.stack([_as_mnist(image) for image in digits.images[:limit]])
    source = (
        "scikit-learn's handwritten digits (UCI optical recognition, 1,797 real 8x8 images),"
        " up-sampled bicubically to 20x20 in 28x28."
    )
    return Dataset(images[..., np.newaxis], digits.target[:limit].astype(np.int64), source)


def _as_mnist(image: np.ndarray) -> Images:
    """[8, 8] of 0..16 as uint8 [28, 28], its centre of mass in the middle as far as the margin
    allows."""
    pixels = Image.fromarray(np.rint(image * (255 / 16)).astype(np.uint8)).resize(
        (_BOX, _BOX), Image.Resampling.BICUBIC
    )
    framed = np.pad(np.asarray(pixels), _MARGIN)
    grid = np.arange(SIDE)
    mass = framed.sum(dtype=np.int64)
    row, column = (
        framed.sum(1, dtype=np.int64) @ grid / mass,
        framed.sum(0, dtype=np.int64) @ grid / mass,
    )
    down, right = np.clip(
        np.rint((SIDE - 1) / 2 - np.array([row, column])), -_MARGIN, _MARGIN
    ).astype(int)
    return np.roll(framed, (down, right), (0, 1))
