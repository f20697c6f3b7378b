"""Map-reduce inference on frames larger than a network: split into tiles, group, assign to
replicas, run, merge.

A tile carries a halo of its neighbours' pixels, so that a network whose result depends on at most
`halo` pixels around each one gives the same as on the whole frame. y is periodic, as in the flow;
beyond inlet and outlet the halo repeats the last column.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ganboard.gan.data.dataset import DatasetError
from ganboard.gan.models.pix2pix import architecture
from ganboard.gan.models.pix2pix.config import Config

Tiles = npt.NDArray[Any]


class TilingError(DatasetError):
    """A frame that cannot be tiled as asked; the message is one sentence that names the value, the
    limit and the remedy."""


def whole(config: Config, frame: tuple[int, int], halo: int) -> bool:
    """Whether the network takes a frame of (H, W) in one piece: a compact one without a halo, where
    both sides can be halved as often as it does."""
    halved = 1 << architecture.SIZES - 1
    return config.network == "compact" and not halo and not any(n % halved for n in frame)


def advance(config: Config, frame: tuple[int, int], halo: int) -> tuple[int, int]:
    """Pixels (h, w) that a tile of a frame of (H, W) advances. Raises TilingError."""
    if whole(config, frame, halo):
        return frame
    side = inner(config.side, frame, halo)
    return side, side


class Group(NamedTuple):
    """Tiles that a network takes together."""

    first: int  # number of the first tile
    tiles: Tiles


def inner(side: int, frame: tuple[int, int], halo: int) -> int:
    """Pixels that a tile advances, for a network that sees squares of `side` pixels and a frame of
    (H, W). Raises TilingError."""
    fitting = [
        str(h) for h in range(side // 3 + 1) if not any(length % (side - 2 * h) for length in frame)
    ]
    if str(halo) not in fitting:
        remedy = (
            f"choose a halo of {' or '.join(fitting)}"
            if fitting
            else f"take frames whose sides are multiples of {side}"
        )
        raise TilingError(
            f"A network of {side}x{side} pixels with halo={halo} does not tile a frame of"
            f" {frame[0]}x{frame[1]}: {remedy}."
        )
    return side - 2 * halo


def split(frame: Tiles, tile: tuple[int, int], halo: int = 0) -> Tiles:
    """Tiles [N, h + 2 halo, w + 2 halo, C] of a frame [H, W, C], row by row; `tile` is (h, w).
    Raises TilingError."""
    if frame.ndim != 3:
        raise TilingError(
            f"A frame has the 3 axes height, width and channel, not {frame.ndim}: give one frame."
        )
    rows, columns = _counts(frame.shape[:2], tile, halo)
    padded = np.pad(frame, ((halo, halo), (0, 0), (0, 0)), mode="wrap")
    padded = np.pad(padded, ((0, 0), (halo, halo), (0, 0)), mode="edge")
    sides = (tile[0] + 2 * halo, tile[1] + 2 * halo)
    windows = np.lib.stride_tricks.sliding_window_view(padded, sides, axis=(0, 1))[
        :: tile[0], :: tile[1]
    ]
    return np.ascontiguousarray(
        np.moveaxis(windows, 2, -1).reshape(rows * columns, *sides, frame.shape[2])
    )


def group(tiles: Tiles, size: int) -> list[Group]:
    """Groups of `size` tiles in their order; the last may hold fewer. Raises TilingError."""
    _positive("group size", size)
    return [Group(first, tiles[first : first + size]) for first in range(0, len(tiles), size)]


def assign(groups: Sequence[Group], replicas: int) -> list[list[Group]]:
    """The groups of each replica, dealt in turn, so that their numbers differ by one at most.
    Raises TilingError."""
    _positive("number of replicas", replicas)
    return [list(groups[replica::replicas]) for replica in range(replicas)]


def ungroup(groups: Sequence[Group]) -> Tiles:
    """The tiles [N, ...] of groups in any order, as replicas give them back. Raises TilingError
    when some are missing or there twice."""
    tiles: list[Tiles] = []
    expected = 0
    for found in sorted(groups, key=lambda group: group.first):
        if found.first != expected:
            raise TilingError(
                f"Tile {min(expected, found.first)} is missing or there twice: give each group of a"
                " frame once."
            )
        tiles.append(found.tiles)
        expected += len(found.tiles)
    if not tiles:
        raise TilingError(
            "0 groups make no frame, at least 1 is needed: give each group of a frame once."
        )
    return np.concatenate(tiles)


def merge(
    tiles: Tiles, frame: tuple[int, int], tile: tuple[int, int], halo: int = 0, *, blend: int = 0
) -> Tiles:
    """The frame [H, W, C] of tiles [N, h + 2 halo, w + 2 halo, C] in `split`'s order; `frame` is
    (H, W).

    Within `blend` pixels on either side of a seam one tile passes linearly into the next; 0 cuts at
    the seam. Where neighbours agree the result is their value to the bit, so merge(split(x)) is x.
    Raises TilingError.
    """
    rows, columns = _counts(frame, tile, halo)
    shape = (rows * columns, tile[0] + 2 * halo, tile[1] + 2 * halo)
    if tiles.ndim != 4 or tiles.shape[:3] != shape:
        raise TilingError(
            f"The tiles have shape {tiles.shape}, not {(*shape, 'C')}: merge with the sizes that"
            " they were split with."
        )
    limit = min(halo, min(tile) // 2)
    if not 0 <= blend <= limit:
        raise TilingError(
            f"blend={blend} lies outside 0 to {limit} (the halo, and half a tile): choose one"
            " between, or a larger halo."
        )
    if blend and not np.issubdtype(tiles.dtype, np.floating):
        raise TilingError(
            f"Blending needs floating-point tiles, not {tiles.dtype}: convert them, or take"
            " blend=0."
        )
    # [columns, x, rows, y, C]
    parts = tiles.reshape(rows, columns, *tiles.shape[1:]).transpose(1, 3, 0, 2, 4)
    strips = _join(parts, halo, blend, periodic=False).transpose(1, 2, 0, 3)  # [rows, y, W, C]
    return _join(strips, halo, blend, periodic=True)


def _join(parts: Tiles, halo: int, blend: int, *, periodic: bool) -> Tiles:
    """[n, t + 2 halo, ...] to [n t, ...]."""
    count, size = len(parts), parts.shape[1] - 2 * halo
    inner = parts[:, halo : halo + size].copy()
    if blend:
        left = parts[:, halo + size - blend : halo + size + blend]
        right = np.roll(parts, -1, axis=0)[:, halo - blend : halo + blend]
        weight = (
            ((np.arange(2 * blend) + 0.5) / (2 * blend))
            .astype(parts.dtype)
            .reshape(-1, *(1,) * (parts.ndim - 2))
        )
        # not a weighted sum: equal values must stay as they are
        seams = left + weight * (right - left)
        last = count if periodic else count - 1
        inner[:last, size - blend :] = seams[:last, :blend]
        inner[(np.arange(last) + 1) % count, :blend] = seams[:last, blend:]
    return inner.reshape(count * size, *inner.shape[2:])


def _counts(frame: Sequence[int], tile: tuple[int, int], halo: int) -> tuple[int, int]:
    """Tiles down and across; raises TilingError."""
    for name, value in {
        "frame height": frame[0],
        "frame width": frame[1],
        "tile height": tile[0],
        "tile width": tile[1],
    }.items():
        _positive(name, value)
    if any(side % part for side, part in zip(frame, tile, strict=True)):
        raise TilingError(
            f"A frame of {frame[0]}x{frame[1]} pixels does not divide into tiles of"
            f" {tile[0]}x{tile[1]}: take a tile height and width that divide the frame's."
        )
    if not 0 <= halo <= min(tile):
        raise TilingError(
            f"A halo of {halo} pixels lies outside 0 to {min(tile)}, the tile's smaller side:"
            " choose one between, or larger tiles."
        )
    return frame[0] // tile[0], frame[1] // tile[1]


def _positive(name: str, value: int) -> None:
    if value < 1:
        raise TilingError(f"The {name} is {value}, below the limit of 1: give a positive number.")
