"""Which data sets there are and how large, without decoding them. Light: the web process uses it."""

from __future__ import annotations

from pathlib import Path

from gan.config import RunConfig
from gan.data import digits, images, mnist


def count(config: RunConfig, data_dir: Path) -> int:
    """Images in `config.dataset` before `config.limit`, from file headers and names alone.

    MNIST and Fashion-MNIST count 60,000 while they are absent, for that is what a download brings: `check` tells whether it can.
    Raises DatasetError for absent or damaged files.
    """
    if config.dataset == "digits":
        return digits.COUNT
    if config.dataset == "images":
        return images.count(data_dir, config.images_path)
    path = mnist.find(config.dataset, data_dir)
    return mnist.count(path) if path else mnist.COUNT


def check(config: RunConfig, data_dir: Path) -> None:
    """Raises DatasetError when `config` has no usable data: absent or damaged files, or a download that cannot succeed (3 s at most)."""
    if config.dataset in mnist.ORIGINS and not mnist.find(config.dataset, data_dir):
        mnist.require_download(config.dataset, data_dir)
    count(config, data_dir)


def available(data_dir: Path) -> dict[str, str | None]:
    """For each data set None when it is here, else one sentence that says why not; nothing is opened and no network is asked."""
    absent = {
        name: f"{name} is not in {data_dir} yet: its first run downloads it ({origin.size}) if this machine is online."
        for name, origin in mnist.ORIGINS.items()
        if not mnist.find(name, data_dir)
    }
    if not _has_pictures(data_dir):
        absent["images"] = f"There is no folder or zip of pictures in {data_dir}: put one there and name it in images_path."
    return {name: absent.get(name) for name in ("digits", "mnist", "fashion_mnist", "images")}


def _has_pictures(data_dir: Path) -> bool:
    try:
        entries = [entry for entry in data_dir.iterdir() if not entry.name.startswith(".") and entry.name not in mnist.ORIGINS]
    except OSError:  # no such directory, or not ours to read
        return False
    return any(entry.is_dir() or entry.suffix.lower() == ".zip" for entry in entries)
