"""The sheet of what a network will see."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from ganboard.gan.data import DatasetError, pictures
from tests.unit.gan.data.pictures.files import grey, put


def pixels(found: pictures.Sheet) -> np.ndarray:
    return np.asarray(Image.open(io.BytesIO(found.png)))


def test_pictures_lie_on_it_as_the_network_sees_them(tmp_path: Path) -> None:
    put(tmp_path / "set", {f"{i:02}.png": grey(10 * i) for i in range(11)})
    found = pictures.sheet(tmp_path, "set", 32, 1)
    drawn = pixels(found)
    assert drawn.shape == (2 * 34 - 2, 8 * 34 - 2, 4)
    middles = drawn[16::34, 16::34]
    assert middles[..., 0].ravel()[:11].tolist() == [10 * i for i in range(11)]
    assert middles[..., 3].ravel().tolist() == [255] * 11 + [0] * 5
    assert (found.shown, found.pictures, found.looked) == (11, 11, 11)
    assert found.sentences == (
        "11 pictures in set, which a network sees in grey, 32x32 pixels.",
        "Size of all 11 that were read: 32x32.",
    )
    loaded = pictures.load(tmp_path, "set", 32, 1).images
    np.testing.assert_array_equal(drawn[:32, 34:66, 0], loaded[1][..., 0])


def test_a_sample_is_spread_evenly_and_says_so(tmp_path: Path) -> None:
    put(tmp_path / "set", {f"{i:03}.png": grey(i) for i in range(100)})
    found = pictures.sheet(tmp_path, "set", 28, 3, shown=4, looked=10)
    assert (found.shown, found.pictures, found.looked) == (4, 100, 10)
    assert pixels(found)[14, 14::30, 0].tolist() == [0, 20, 50, 70]
    assert found.sentences[-1] == "Size of 10 that were read: 32x32."


def test_classes_sizes_and_unreadable_files_are_counted(tmp_path: Path) -> None:
    files = {"a/1.png": grey(1, (40, 30)), "b/2.png": grey(2), "b/3.png": b"", "b/4.png": grey(3)}
    put(tmp_path / "set", files)
    found = pictures.sheet(tmp_path, "set", 64, 3)
    assert found.classes == {"a": 1, "b": 3}
    assert found.sizes == {"32x32": 2, "40x30": 1}
    assert found.sentences[1:3] == (
        "2 classes: a 1, b 3.",
        "2 sizes among all 4 that were read: 32x32 (2), 40x30 (1).",
    )
    assert found.sentences[3].startswith("1 of 4 cannot be read. The first: ")
    assert len(found.unreadable) == 1
    assert found.shown == 3


def test_what_cannot_be_trained_on_has_no_sheet(tmp_path: Path) -> None:
    put(tmp_path / "set", {"1.png": b""})
    with pytest.raises(DatasetError, match="None of the 1 pictures"):
        pictures.sheet(tmp_path, "set", 28, 1)
    with pytest.raises(DatasetError, match="image_size=300"):
        pictures.sheet(tmp_path, "set", 300, 1)


def test_an_array_is_read_for_a_sheet_only_on_request(tmp_path: Path) -> None:
    np.savez(tmp_path / "set.npz", images=np.full((3, 40, 40), 7, np.uint8))
    found = pictures.sheet(tmp_path, "set.npz", 32, 1)
    assert (found.shown, found.sizes) == (3, {"40x40": 3})
    with pytest.raises(DatasetError, match=r"set\.npz is one large array"):
        pictures.sheet(tmp_path, "set.npz", 32, 1, light=True)
