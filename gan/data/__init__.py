"""Data sets as uint8 images [N, 28, 28, 1]. Light to import: scikit-learn and Keras wait until a data set needs them."""

from __future__ import annotations

from pathlib import Path

from gan.config import RunConfig
from gan.data import digits, images, mnist
from gan.data.dataset import Dataset, DatasetError

__all__ = ["Dataset", "DatasetError", "load"]


def load(config: RunConfig, data_dir: Path) -> Dataset:
    """The first `config.limit` images of `config.dataset`, downloaded into `data_dir` when MNIST or Fashion-MNIST is not there yet.

    Raises DatasetError with one sentence when the data are absent, damaged or not allowed.
    """
    if config.dataset == "digits":
        return digits.load(config.limit)
    if config.dataset == "images":
        return images.load(data_dir, config.images_path, config.limit)
    return mnist.load(config.dataset, data_dir, config.limit)
