"""Data sets. Light to import: scikit-learn, Keras and h5py wait until a data set needs them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ganboard.gan.config import RunConfig
from ganboard.gan.data import catalog
from ganboard.gan.data.dataset import Dataset, DatasetError
from ganboard.gan.data.progress import Progress, ignore

__all__ = ["Dataset", "DatasetError", "load"]


def load(config: RunConfig, data_dir: Path, progress: Progress = ignore) -> Any:
    """The first `config.limit` examples of `config.dataset`, as the model's recipe wants them:
    `Dataset` for images. `progress` hears of what takes long.

    Raises DatasetError with one sentence when the data are absent, damaged or not allowed.
    """
    return catalog.source(config).load(config, data_dir, progress)
