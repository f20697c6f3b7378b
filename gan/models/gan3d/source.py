"""The showers that 3DGAN learns from. Light: the web process counts and checks with it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ganboard.gan.data.dataset import DatasetError
from ganboard.gan.data.images import resolve
from ganboard.gan.data.progress import Progress, counted, ignore
from ganboard.gan.models.gan3d.config import Config

if TYPE_CHECKING:
    from ganboard.gan.models.gan3d.data.reader import Reader
    from ganboard.gan.models.gan3d.data.showers import Showers

SAMPLED = 10_000  # events of dataset=showers, one and a half milliseconds each
LAYOUT = {"51x51x25": "variable", "25x25x25": "fixed"}
_SUFFIXES = (".h5", ".hdf5")
_TOGETHER = 64


def load(config: Config, data_dir: Path, progress: Progress = ignore) -> Showers:
    """The first `config.limit` events: sampled, or read from the HDF5 files below
    `config.images_path`. Raises DatasetError."""
    from ganboard.gan.models.gan3d.data.layouts import LAYOUTS, VARIABLE
    from ganboard.gan.models.gan3d.data.reader import sampled
    from ganboard.gan.models.gan3d.data.sampler import Beam, Sampler
    from ganboard.gan.models.gan3d.data.showers import gather, load_files

    if config.dataset == "showers":
        count, layout = min(config.limit or SAMPLED, SAMPLED), LAYOUTS[LAYOUT[config.geometry]]
        # a net of 25 cells has no angle input
        sampler = Sampler(Beam() if layout is VARIABLE else Beam(theta_low=90, theta_high=90))
        portions = ((first, min(_TOGETHER, count - first)) for first in range(0, count, _TOGETHER))
        return gather(
            (sampled(list(sampler.events(size, first)), layout) for first, size in portions),
            count,
            layout.shape,
            counted(progress, "sampling showers"),
        )
    with _reader(config, data_dir) as reader:
        return load_files(reader, config.limit, counted(progress, "reading showers"))


def count(config: Config, data_dir: Path) -> int:
    """Events before `config.limit`; of files all those that are in them, nearly empty ones
    included."""
    if config.dataset == "showers":
        return SAMPLED
    with _reader(config, data_dir) as reader:
        return len(reader)


def check(config: Config, data_dir: Path) -> None:
    """Raises DatasetError for absent, damaged or foreign files; the cells are looked at when the
    training begins."""
    count(config, data_dir)


def _reader(config: Config, data_dir: Path) -> Reader:
    from ganboard.gan.models.gan3d.data.reader import Reader

    path = resolve(data_dir, config.images_path, _SUFFIXES, "folder or HDF5 file")
    paths = (
        sorted(one for one in path.rglob("*") if one.suffix.lower() in _SUFFIXES)
        if path.is_dir()
        else [path]
    )
    if not paths:
        raise DatasetError(
            f"There is no HDF5 file (.h5, .hdf5) in {path}: copy CERN's files there, or write some"
            " with `ganboard data showers`."
        )
    reader = Reader(paths)
    if reader.layout.name != LAYOUT[config.geometry]:
        reader.close()
        raise DatasetError(
            f"{paths[0]} holds {'x'.join(map(str, reader.layout.shape))} cells per event, and"
            f" geometry={config.geometry}: set geometry to what the files have, or name other"
            " files."
        )
    return reader
