"""The pictures that a model of one file learns from. Light: the web process counts and checks with
it."""

from __future__ import annotations

from pathlib import Path

from ganboard.gan.data import pictures
from ganboard.gan.data.dataset import DatasetError
from ganboard.gan.data.pictures import Pictures, named
from ganboard.gan.data.progress import Progress, ignore
from ganboard.gan.settings.pictures import PictureConfig


def load(config: PictureConfig, data_dir: Path, progress: Progress = ignore) -> Pictures:
    """The first `config.limit` pictures, decoded before or now. Raises DatasetError."""
    side, channels, limit = config.image_size, config.channels, config.limit
    if config.dataset != "images":
        return pictures.load_named(
            config.dataset, data_dir, side, channels, limit=limit, progress=progress
        )
    return pictures.load(
        data_dir,
        config.images_path,
        side,
        channels,
        limit=limit,
        skip_unreadable=config.skip_unreadable,
        progress=progress,
    )


def count(config: PictureConfig, data_dir: Path) -> int:
    """Pictures before `config.limit`."""
    if config.dataset != "images":
        return named.count(config.dataset, data_dir)
    return pictures.count(
        data_dir,
        config.images_path,
        config.image_size,
        config.channels,
        skip_unreadable=config.skip_unreadable,
    )


def check(config: PictureConfig, data_dir: Path) -> None:
    """Raises DatasetError for absent data, labels that do not match, too few pictures."""
    if config.dataset != "images":
        return named.check(config.dataset, data_dir)
    pictures.check(
        data_dir, config.images_path, config.image_size, config.channels, classes=config.conditional
    )
    number = count(config, data_dir)
    if number < config.batch_size:
        raise DatasetError(
            f"{config.images_path} has {number:,} pictures, fewer than batch_size="
            f"{config.batch_size}: lower batch_size, or add pictures."
        )
    return None
