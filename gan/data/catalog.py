"""Which data sets there are and how large, without decoding them. Light: the web process uses
it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ganboard.gan.config import RunConfig
from ganboard.gan.data import mnist
from ganboard.gan.settings import registry
from ganboard.gan.settings.metadata import fields_by_group


def count(config: RunConfig, data_dir: Path) -> int:
    """Examples in `config.dataset` before `config.limit`, from file headers and names alone. Raises
    DatasetError."""
    return int(source(config).count(config, data_dir))


def data_settings(config: RunConfig) -> dict[str, Any]:
    """The settings on which `count` depends."""
    groups = fields_by_group(vars(config))
    return config.model_dump(include={*groups["Data"], *groups["Model"]} - {"limit"})


def check(config: RunConfig, data_dir: Path) -> None:
    """Raises DatasetError when `config` has no usable data."""
    source(config).check(config, data_dir)


def source(config: RunConfig) -> Any:
    """The part of the model's folder that knows its data: `load`, `count` and `check`."""
    return registry.of(config).part("source")


def available(data_dir: Path) -> dict[str, str | None]:
    """For each data set None when it is here, else one sentence that says why not; nothing is
    opened and no network is asked."""
    absent = {
        name: (
            f"{name} is not in {data_dir} yet. The first run downloads it ({origin.size}) if this"
            " machine is online."
        )
        for name, origin in mnist.ORIGINS.items()
        if not mnist.find(name, data_dir)
    }
    if not _has(data_dir, (".zip",)):
        absent["images"] = (
            f"There is no folder or zip of pictures in {data_dir}. Add one and set images_path to"
            " its name."
        )
    if not _has(data_dir, (".h5", ".hdf5")):
        absent["hdf5"] = (
            f"There is no folder or HDF5 file of showers in {data_dir}. Add one and set"
            " images_path to its name."
        )
    if not _has(data_dir, ()):
        absent["flow"] = (
            f"There is no folder of frames in {data_dir}. Create one with `ganboard data flow` and"
            " set images_path to its name."
        )
    return {name: absent.get(name) for name in registry.datasets()}


def _has(data_dir: Path, suffixes: tuple[str, ...]) -> bool:
    try:
        entries = [
            entry
            for entry in data_dir.iterdir()
            if not entry.name.startswith(".") and entry.name not in mnist.ORIGINS
        ]
    except OSError:  # no such directory, or not ours to read
        return False
    return any(entry.is_dir() or entry.suffix.lower() in suffixes for entry in entries)
