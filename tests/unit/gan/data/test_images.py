"""Pictures from a folder or zip: which are read, in which order, and how each mode is decoded."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from ganboard.gan.config import ConfigError, parse
from ganboard.gan.data import DatasetError, catalog, images, load
from ganboard.gan.data.decoding import decode
from tests.unit.gan.data.pictures.files import config, encoded, grey, put, put_zip, refusal

GREY_16 = Image.fromarray(np.full((30, 30), 0x8040, np.uint16))


FILES = {
    "b/two.PNG": grey(20),
    "a.jpeg": encoded(Image.new("L", (32, 32), 10), "JPEG"),
    "c.jpg": encoded(Image.new("L", (32, 32), 30), "JPEG"),
    "notes.txt": b"text",
    "inner.zip": b"PK",
    ".hidden.png": b"x",
    ".cache/x.png": b"x",
    "__MACOSX/._a.jpeg": b"x",
}


@pytest.mark.parametrize("kind", ["folder", "zip"])
def test_reads_sorted_by_name_and_skips_the_rest(tmp_path: Path, kind: str) -> None:
    if kind == "folder":
        put(tmp_path / "set", FILES)
    else:
        put_zip(tmp_path / "set.zip", FILES)
    path = "set" if kind == "folder" else "set.zip"
    data = load(config(path), tmp_path)
    assert data.images.shape == (3, 28, 28, 1)
    assert data.images.dtype == np.uint8
    assert data.images[:, 14, 14, 0].tolist() == [10, 20, 30]
    assert data.labels is None
    assert str(tmp_path / path) in data.source
    assert catalog.count(config(path), tmp_path) == 3
    assert load(config(path, limit=2), tmp_path).images[:, 14, 14, 0].tolist() == [10, 20]
    assert catalog.available(tmp_path)["images"] is None


@pytest.mark.parametrize(
    ("data", "level"),
    [
        (encoded(Image.new("1", (9, 9), 1)), 255),
        (encoded(GREY_16), 0x80),
        (encoded(GREY_16, transparency=0x8040), 255),
        (encoded(GREY_16, transparency=0x8041), 0x80),
        (encoded(Image.new("RGB", (30, 30), (255, 0, 0))), 76),
        (encoded(Image.new("RGB", (30, 30), (255, 0, 0)).quantize(4)), 76),
        (encoded(Image.new("P", (30, 30), 0), transparency=0), 255),
        (encoded(Image.new("RGBA", (30, 30), (0, 0, 0, 0))), 255),
        (encoded(Image.new("LA", (30, 30), (0, 127))), 128),
        (encoded(Image.new("CMYK", (30, 30), (0, 0, 0, 255)), "JPEG"), 0),
        (encoded(Image.new("CMYK", (30, 30), (0, 0, 0, 0)), "JPEG"), 255),
        (encoded(Image.new("YCbCr", (30, 30), (90, 128, 128)), "JPEG"), 90),
        (encoded(Image.new("L", (1, 1), 7)), 7),
        (encoded(Image.new("L", (1, 4096), 7)), 7),
        (
            encoded(
                Image.new("L", (8, 8), 9), save_all=True, append_images=[Image.new("L", (8, 8), 99)]
            ),
            9,
        ),
    ],
    ids=[
        "1",
        "I;16",
        "I;16+tRNS",
        "I;16+tRNS of another level",
        "RGB",
        "P",
        "P+tRNS",
        "RGBA",
        "LA",
        "CMYK black",
        "CMYK white",
        "YCbCr",
        "1x1",
        "1x4096",
        "APNG",
    ],
)
def test_decodes_every_mode(data: bytes, level: int) -> None:
    pixels = decode(data, "x")
    assert pixels.shape == (28, 28)
    assert pixels.dtype == np.uint8
    assert np.abs(pixels.astype(int) - level).max() <= 2


def test_crops_the_middle_square() -> None:
    wide = np.zeros((40, 120), np.uint8)
    wide[:, 40:80] = 200
    for array in (wide, wide.T):
        assert (decode(encoded(Image.fromarray(array)), "x") == 200).all()


def test_turns_photographs_upright() -> None:
    halves = np.zeros((64, 64), np.uint8)
    halves[:32] = 255
    exif = Image.Exif()
    exif[0x0112] = 6  # shown after a quarter turn clockwise: the bright top becomes the right side
    pixels = decode(encoded(Image.fromarray(halves), "JPEG", exif=exif, quality=95), "x")
    assert pixels[:, 20:].mean() > 250
    assert pixels[:, :8].mean() < 5


@pytest.mark.parametrize("kind", ["folder", "zip"])
def test_unreadable_pictures_are_left_out_and_counted_on_request(tmp_path: Path, kind: str) -> None:
    files = {"1.png": grey(1), "2.png": b"<html>", "3.png": grey(3)[:-30], "4.png": grey(4)}
    path = "set" if kind == "folder" else "set.zip"
    (put if kind == "folder" else put_zip)(tmp_path / path, files)
    sentence = refusal(path, tmp_path)
    assert "2.png' cannot be read" in sentence
    assert "set skip_unreadable" in sentence
    found = load(config(path, skip_unreadable=True), tmp_path)
    assert found.images[:, 0, 0, 0].tolist() == [1, 4]
    assert [name in why for name, why in zip(("2.png", "3.png"), found.skipped, strict=True)]
    assert images.skipped(found.skipped).startswith("2 pictures were left out")
    # 3.png is damaged behind its header only
    assert catalog.count(config(path, skip_unreadable=True), tmp_path) == 3
    first = load(config(path, skip_unreadable=True, limit=1), tmp_path)
    assert (len(first.images), first.skipped) == (1, ())
    second = load(config(path, skip_unreadable=True, limit=2), tmp_path)
    assert second.images[:, 0, 0, 0].tolist() == [1, 4]


def test_a_set_of_nothing_but_unreadable_pictures_is_refused(tmp_path: Path) -> None:
    put(tmp_path / "set", {"1.png": b"", "2.png": b"<html>"})
    with pytest.raises(DatasetError, match=r"None of the 2 pictures in .* can be read") as caught:
        load(config("set", skip_unreadable=True), tmp_path)
    assert "1.png" in str(caught.value)
    with pytest.raises(DatasetError, match="None of the 2 pictures in"):
        catalog.check(config("set", skip_unreadable=True), tmp_path)


def test_skipping_is_for_pictures_alone() -> None:
    with pytest.raises(ConfigError, match="skip_unreadable=true is only used with dataset=images"):
        parse({"dataset": "mnist", "skip_unreadable": True})


def test_follows_links_inside_the_data_directory(tmp_path: Path) -> None:
    put(tmp_path / "all", {"1.png": grey(1)})
    (tmp_path / "set").mkdir()
    (tmp_path / "set" / "first.png").symlink_to("../all/1.png")
    (tmp_path / "alias").symlink_to("set")
    assert load(config("alias"), tmp_path).images[0, 0, 0, 0] == 1


@pytest.mark.parametrize("path", ["absent", "absent.zip", "file.txt"])
def test_refuses_absent_or_other_kinds(tmp_path: Path, path: str) -> None:
    (tmp_path / "file.txt").write_text("x")
    assert f"images_path='{path}' cannot be read (there is no such folder or zip)" in refusal(
        path, tmp_path
    )


def test_refuses_a_set_without_pictures(tmp_path: Path) -> None:
    put(tmp_path / "set", {"a.txt": b"", "b.gif": b"", ".c.png": b""})
    assert "contains no pictures (files skipped: 3)" in refusal("set", tmp_path)
    put_zip(tmp_path / "set.zip", {"a.txt": b""})
    assert "contains no pictures (files skipped: 1)" in refusal("set.zip", tmp_path)
    with pytest.raises(DatasetError, match="contains no pictures"):
        catalog.check(config("set.zip"), tmp_path)
