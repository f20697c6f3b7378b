"""The images that DCGAN learns from. Light: the web process counts and checks with it."""

from __future__ import annotations

from pathlib import Path

from ganboard.gan.data import digits, images, mnist
from ganboard.gan.data.dataset import Dataset, DatasetError
from ganboard.gan.data.progress import Progress, ignore
from ganboard.gan.models.dcgan.config import Config


def load(config: Config, data_dir: Path, progress: Progress = ignore) -> Dataset:
    """The first `config.limit` images, downloaded into `data_dir` when MNIST or Fashion-MNIST is
    not there yet. Raises DatasetError."""
    if config.dataset == "digits":
        return digits.load(config.limit)
    if config.dataset == "images":
        path, skip = config.images_path, config.skip_unreadable
        return images.load(data_dir, path, config.limit, skip_unreadable=skip)
    return mnist.load(config.dataset, data_dir, config.limit)


def count(config: Config, data_dir: Path) -> int:
    """Images before `config.limit`; MNIST and Fashion-MNIST count 60,000 while they are absent, for
    that is what a download brings."""
    if config.dataset == "digits":
        return digits.COUNT
    if config.dataset == "images":
        if not config.skip_unreadable:
            return images.count(data_dir, config.images_path)
        good, number = images.headed(data_dir, config.images_path)
        if not good:
            raise DatasetError(images.nothing(number, config.images_path))
        return good
    path = mnist.find(config.dataset, data_dir)
    return mnist.count(path) if path else mnist.COUNT


def check(config: Config, data_dir: Path) -> None:
    """Raises DatasetError for absent or damaged files, or a download that cannot succeed (3 s at
    most)."""
    if config.dataset in mnist.ORIGINS and not mnist.find(config.dataset, data_dir):
        mnist.require_download(config.dataset, data_dir)
    count(config, data_dir)
