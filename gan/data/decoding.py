"""One PNG or JPEG file from a stranger, decoded under limits."""

from __future__ import annotations

import io
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import numpy as np
from PIL import Image, ImageOps, UnidentifiedImageError

from ganboard.gan.data.dataset import SIDE, DatasetError, Images, reading

MAX_SIDE = 4096  # pixels
MAX_PIXELS = 16_000_000
MAX_BYTES = 64 << 20  # of one picture's file
REMEDY = (
    "replace it by a PNG or JPEG file, take it out, or set skip_unreadable to leave out all that"
    " cannot be read"
)


class Decoded(NamedTuple):
    """A picture as the network sees it, and what size it had."""

    pixels: Images  # [side, side, C]
    size: tuple[int, int]  # width and height of the original in pixels


def decode(data: bytes, what: str) -> Images:
    """A PNG or JPEG file as grey uint8 [28, 28], as `convert` makes it. Raises DatasetError."""
    with quiet():
        return convert(data, what, SIDE, 1).pixels[..., 0]


def convert(data: bytes, what: str, side: int, channels: int) -> Decoded:
    """A PNG or JPEG file as uint8 [side, side, channels], grey or RGB: upright, transparency on
    white, the middle square, Lanczos. Call it inside `quiet`, in any thread. Raises DatasetError.

    Pillow's Lanczos averages over all pixels that a new one covers. Filters that do not, as those
    of OpenCV and PyTorch, alias, and FID sees that (Parmar et al. 2022, "On Aliased Resizing").
    """
    with opened(io.BytesIO(data), what) as image:
        upright = ImageOps.exif_transpose(image)
        made = _grey(upright) if channels == 1 else _rgb(upright)
        return Decoded(fitted(made, side), upright.size)


def fitted(image: Image.Image, side: int) -> Images:
    """The middle square of a picture in mode L or RGB, uint8 [side, side, 1 or 3]."""
    least = min(image.size)
    left, top = (image.width - least) // 2, (image.height - least) // 2
    # Cropped first: resize(box=...) would let the neighbourhood of the square shine through its
    # rim.
    square = image.crop((left, top, left + least, top + least))
    pixels = np.asarray(square.resize((side, side), Image.Resampling.LANCZOS))
    return pixels.reshape(side, side, -1)


@contextmanager
def quiet() -> Iterator[None]:
    """Without Pillow's warnings, which are not useful on untrusted files: it raises what it cannot
    read, and the size is checked here. For the whole process, so in one thread at a time."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


@contextmanager
def opened(file: Path | io.BytesIO, what: str) -> Iterator[Image.Image]:
    """The picture with its header read and its size checked; what goes wrong within is a
    DatasetError, too."""
    with reading(what, REMEDY):
        try:
            # of all its parsers only these two can be reached
            image = Image.open(file, formats=["PNG", "JPEG"])
            too_large = max(image.size) > MAX_SIDE or image.width * image.height > MAX_PIXELS
        except Image.DecompressionBombError:  # Pillow's own limit lies higher
            too_large = True
        except UnidentifiedImageError:
            raise ValueError("it is no PNG or JPEG") from None
        if too_large:
            limit = f"{MAX_SIDE:,} pixels a side or {MAX_PIXELS:,} in all"
            raise DatasetError(
                f"{what} has more than the {limit} allowed. Make it smaller, take it out,"
                " or set skip_unreadable."
            )
        yield image


def _grey(image: Image.Image) -> Image.Image:
    """8-bit luma (ITU-R 601-2), as Pillow's mode L."""
    if image.mode.startswith("I"):  # 16 bits: convert would clip at 255 instead of scaling
        levels = np.asarray(image).astype(np.uint16)
        grey = (levels >> 8).astype(np.uint8)
        # PNG's tRNS names one level that is transparent, of all 16 bits
        grey[levels == image.info.get("transparency", -1)] = 255
        return Image.fromarray(grey)
    return _on_white(image).convert("L")


def _rgb(image: Image.Image) -> Image.Image:
    if image.mode.startswith("I"):
        return _grey(image).convert("RGB")
    return _on_white(image)


def _on_white(image: Image.Image) -> Image.Image:
    """The picture in RGB, with white behind what is transparent."""
    if image.has_transparency_data:
        image = image.convert("RGBA")
        image = Image.alpha_composite(Image.new("RGBA", image.size, "white"), image)
    return image.convert("RGB")


def require_small(what: str, size: int) -> None:
    if size > MAX_BYTES:
        raise DatasetError(
            f"{what} is {size:,} bytes, more than the {MAX_BYTES:,} allowed for a picture: make it"
            " smaller, or set skip_unreadable."
        )
