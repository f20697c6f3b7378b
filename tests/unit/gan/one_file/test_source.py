"""Where the pictures of a model of one file come from, before and while it trains."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from ganboard.gan.config import parse
from ganboard.gan.data import DatasetError
from ganboard.gan.one_file import source
from ganboard.gan.settings.pictures import PictureConfig


def config(**changes: Any) -> PictureConfig:
    found = parse({"model": "convgan", "batch_size": 4, **changes})
    assert isinstance(found, PictureConfig)
    return found


def pictures(folder: Path, count: int) -> None:
    folder.mkdir(parents=True)
    for number in range(count):
        level = np.full((40, 30, 3), 20 * number, np.uint8)
        Image.fromarray(level).save(folder / f"{number}.png")


def test_a_folder_is_brought_to_size_and_colours(tmp_path: Path) -> None:
    pictures(tmp_path / "mine", 5)
    own = config(dataset="images", images_path="mine", image_size=32, channels=3, limit=4)
    source.check(own, tmp_path)
    assert source.count(own, tmp_path) == 5
    loaded = source.load(own, tmp_path)
    assert loaded.images[:].shape == (4, 32, 32, 3)
    assert loaded.labels is None


def test_a_known_set_is_brought_to_size_and_colours_too(tmp_path: Path) -> None:
    digits = config(dataset="digits", image_size=32, channels=3, limit=6)
    source.check(digits, tmp_path)
    loaded = source.load(digits, tmp_path)
    assert loaded.images[:].shape == (6, 32, 32, 3)
    assert loaded.labels is not None
    assert source.count(digits, tmp_path) == 1797


def test_fewer_pictures_than_a_batch_are_refused_before_the_start(tmp_path: Path) -> None:
    pictures(tmp_path / "mine", 3)
    with pytest.raises(DatasetError, match=r"^mine has 3 pictures, fewer than batch_size=4: lower"):
        source.check(config(dataset="images", images_path="mine"), tmp_path)


def test_an_absent_folder_is_refused_before_the_start(tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match="nowhere"):
        source.check(config(dataset="images", images_path="nowhere"), tmp_path)
