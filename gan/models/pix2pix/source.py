"""The frames that pix2pix learns from. Light: the web process counts and checks with it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from gan.config import RunConfig
from gan.data.dataset import DatasetError
from gan.data.images import resolve
from gan.models.pix2pix.frames import Frames

if TYPE_CHECKING:
    from gan.models.pix2pix.data import Examples


def load(config: RunConfig, data_dir: Path) -> Examples:
    """The first `config.limit` pairs of the flows that are there to train with. Raises DatasetError."""
    from gan.models.pix2pix import data

    return data.load(frames(config, data_dir)).first(config.limit)


def count(config: RunConfig, data_dir: Path) -> int:
    """Examples before `config.limit`."""
    return len(frames(config, data_dir).pairs("train"))


def check(config: RunConfig, data_dir: Path) -> None:
    """Raises DatasetError for absent, damaged or foreign files and frames that are too small; values are looked at when training begins."""
    count(config, data_dir)


def frames(config: RunConfig, data_dir: Path) -> Frames:
    """Raises DatasetError."""
    folder = resolve(data_dir, config.images_path, (), "folder")
    found, side = Frames(folder), int(config.geometry.partition("x")[0])
    nx, ny = found.manifest.grid
    if min(nx, ny) < side:
        raise DatasetError(
            f"{folder} holds frames of {nx}x{ny} cells and geometry={config.geometry} cuts squares of {side}: "
            "choose a smaller geometry, or make larger frames with `ganboard data flow --grid`."
        )
    return found
