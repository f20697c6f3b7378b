"""Arrays of images as one PNG, laid out as the grids of other runs."""

from __future__ import annotations

import io
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from PIL import Image

MAX_IMAGES = 64  # of one grid
MAX_SIDE = 2048  # pixels of a grid
LAYOUTS = "[n, H, W], [n, H, W, 1 or 3] or [n, 1 or 3, H, W]"


class BadImages(ValueError):
    """What cannot be drawn; the message is one sentence."""


@dataclass(frozen=True)
class Sheet:
    """Images side by side, `columns` per row, and by how much they were reduced."""

    pixels: npt.NDArray[np.uint8]  # [height, width, 1 or 3]
    rows: int
    columns: int
    reduced: int  # one of so many rows and columns of pixels is kept
    signed: bool  # whether the values were taken for [-1, 1]

    def png(self) -> bytes:
        buffer = io.BytesIO()
        grey = self.pixels.shape[2] == 1
        Image.fromarray(self.pixels[:, :, 0] if grey else self.pixels).save(
            buffer, "PNG", compress_level=6
        )
        return buffer.getvalue()


def sheet(array: Any, *, signed: bool = False) -> Sheet:
    """The first MAX_IMAGES of an array of images as a sheet. Raises BadImages.

    Integers are 0 to 255. Floats are in [-1, 1] if any of these images has a value below 0, or an
    earlier call had (`signed`), and in [0, 1] otherwise; what lies beyond is clipped, NaN is black.
    """
    images = _laid_out(array)[:MAX_IMAGES]
    columns = math.ceil(math.sqrt(len(images)))
    rows = math.ceil(len(images) / columns)
    reduced = math.ceil(max(rows * images.shape[1], columns * images.shape[2]) / MAX_SIDE)
    images = images[:, ::reduced, ::reduced]
    pixels, signed = _bytes(images, signed)
    missing = rows * columns - len(pixels)
    pixels = np.concatenate([pixels, np.zeros((missing, *pixels.shape[1:]), np.uint8)])
    _, height, width, channels = pixels.shape
    whole = pixels.reshape(rows, columns, height, width, channels).swapaxes(1, 2)
    return Sheet(
        whole.reshape(rows * height, columns * width, channels), rows, columns, reduced, signed
    )


def _laid_out(array: Any) -> npt.NDArray[Any]:
    """[n, H, W, C]."""
    if hasattr(array, "detach"):  # PyTorch: on a device, and part of a graph
        array = array.detach().cpu()
    images = np.asarray(array)
    if images.ndim == 3:
        images = images[..., np.newaxis]
    if images.ndim == 4 and images.shape[3] not in (1, 3) and images.shape[1] in (1, 3):
        images = np.moveaxis(images, 1, 3)
    if images.ndim != 4 or images.shape[3] not in (1, 3) or not images.size:
        raise BadImages(f"Images of shape {np.shape(array)} cannot be drawn: pass {LAYOUTS}.")
    if images.dtype.kind not in "buif" and images.dtype.name != "bfloat16":
        raise BadImages(f"Images of type {images.dtype} cannot be drawn: pass numbers.")
    return images


def _bytes(images: npt.NDArray[Any], signed: bool) -> tuple[npt.NDArray[np.uint8], bool]:
    if images.dtype.kind in "ui":
        return np.clip(images, 0, 255).astype(np.uint8), signed
    floats = images.astype(np.float32)
    signed = signed or bool(np.nanmin(floats, initial=0.0) < 0)
    unit = (floats + 1) / 2 if signed else floats
    return (np.clip(np.nan_to_num(unit), 0, 1) * 255).round().astype(np.uint8), signed
