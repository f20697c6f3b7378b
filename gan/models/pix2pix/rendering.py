"""Pictures of flows: vorticity, blue where it turns one way and red where the other, white where it
does not."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from PIL import Image, ImageDraw

from ganboard.gan.models.pix2pix.flow import vortex_street
from ganboard.gan.models.pix2pix.flow.obstacle import Mask

_VORTICITY = 2  # the channel
_LINE = 14  # pixels of a line of words
_GAP = 2


class Strip(NamedTuple):
    """Frames [n, ny, nx, 3] of one flow beside each other, real ones above."""

    title: str
    real: npt.NDArray[np.float32]
    made: npt.NDArray[np.float32]
    solid: Mask


def vorticity(frames: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    """Frames [n, y, x, 3 or more] -> pictures [n, y, x, 3] in [-1, 1]."""
    turn = np.clip(frames[..., _VORTICITY], -1, 1)
    shades = [1 + np.minimum(turn, 0), 1 - np.abs(turn), 1 - np.maximum(turn, 0)]
    return (2 * np.stack(shades, -1) - 1).astype(np.float32)


def sheet(strips: Sequence[Strip], headings: Sequence[str]) -> bytes:
    """PNG of flows one below the other; each column of frames has a heading."""
    ny, nx = strips[0].solid.shape
    block = _LINE + 2 * (ny + _GAP)
    picture = Image.new(
        "RGB", (len(headings) * (nx + _GAP) - _GAP, _LINE + len(strips) * block), "white"
    )
    draw = ImageDraw.Draw(picture)
    for column, heading in enumerate(headings):
        draw.text((column * (nx + _GAP), 1), heading, "black")
    for number, strip in enumerate(strips):
        top = _LINE + number * block
        draw.text((0, top + 1), f"{strip.title}: real, and predicted below", "black")
        for row, frames in enumerate((strip.real, strip.made)):
            for column, frame in enumerate(frames):
                painted = Image.fromarray(vortex_street.paint(frame[..., _VORTICITY], strip.solid))
                picture.paste(painted, (column * (nx + _GAP), top + _LINE + row * (ny + _GAP)))
    buffer = io.BytesIO()
    picture.save(buffer, "PNG", optimize=True)
    return buffer.getvalue()
