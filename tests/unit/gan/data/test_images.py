"""Pictures from a folder or zip: every mode decoded as a person sees it, everything hostile refused
in one sentence."""

from __future__ import annotations

import io
import os
import random
import struct
import zipfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from ganboard.gan.config import ConfigError, RunConfig, parse
from ganboard.gan.data import DatasetError, catalog, images, load
from ganboard.gan.data.images import decode


def encoded(image: Image.Image, kind: str = "PNG", **options: Any) -> bytes:
    out = io.BytesIO()
    image.save(out, kind, **options)
    return out.getvalue()


def grey(level: int, size: tuple[int, int] = (32, 32)) -> bytes:
    return encoded(Image.new("L", size, level))


def config(path: str = "set", **changes: Any) -> RunConfig:
    return RunConfig(dataset="images", images_path=path, batch_size=1, **changes)


def put(folder: Path, files: dict[str, bytes]) -> None:
    for name, data in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)


def put_zip(path: Path, files: dict[str, bytes]) -> None:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as zipped:
        for name, data in files.items():
            zipped.writestr(name, data)


GREY_16 = Image.fromarray(np.full((30, 30), 0x8040, np.uint16))


def attempt(data: bytes) -> str:
    """Anything but a picture or a DatasetError fails the test."""
    try:
        return "decoded" if decode(data, "x").shape == (28, 28) else "misshapen"
    except DatasetError:
        return "refused"


def refusal(path: str, data_dir: Path) -> str:
    with pytest.raises(DatasetError) as caught:
        load(config(path), data_dir)
    sentence = str(caught.value)
    assert sentence.endswith(".")
    assert "\n" not in sentence
    return sentence


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


def chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def png(width: int, height: int) -> bytes:
    header = struct.pack(">2I5B", width, height, 8, 0, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", header)
        + chunk(b"IDAT", zlib.compress(bytes(1000)))
        + chunk(b"IEND", b"")
    )


@pytest.mark.parametrize(
    "size", [(4097, 1), (4096, 4096), (10_000, 10_000), (65_535, 65_535), (2**31 - 1, 2**31 - 1)]
)
def test_refuses_large_pictures_before_decoding(size: tuple[int, int]) -> None:
    with pytest.raises(
        DatasetError, match=r"^big.png has more than the 4,096 pixels a side or 16,000,000 in all"
    ):
        decode(png(*size), "big.png")


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"<html><script>alert(1)</script>",
        png(0, 0),
        png(100, 100),
        grey(3)[:-30],
        encoded(Image.new("L", (64, 64)), "JPEG")[:200],
        encoded(Image.new("L", (8, 8)), "GIF"),
        encoded(Image.new("L", (8, 8)), "BMP"),
        encoded(Image.new("L", (8, 8)), "TIFF"),
        b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n",
        b"8BPS\0\1" + bytes(40),
        b"SIMPLE  =                    T",
    ],
    ids=[
        "empty",
        "html",
        "0x0",
        "short",
        "cut png",
        "cut jpeg",
        "gif",
        "bmp",
        "tiff",
        "eps",
        "psd",
        "fits",
    ],
)
def test_refuses_damaged_and_disguised_files(tmp_path: Path, data: bytes) -> None:
    put(tmp_path / "set", {"1.png": grey(1), "2.png": data})
    assert "2.png' cannot be read" in refusal("set", tmp_path)
    put_zip(tmp_path / "set.zip", {"1.png": grey(1), "2.png": data})
    assert "member '2.png' cannot be read" in refusal("set.zip", tmp_path)


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


def test_compressed_text_and_colour_profile_bombs_end_in_a_picture_or_one_sentence() -> None:
    zeros = zlib.compress(bytes(100_000_000))
    whole = grey(5)
    for bomb in (chunk(b"zTXt", b"k\0\0" + zeros), chunk(b"iCCP", b"k\0\0" + zeros)):
        assert attempt(whole[:33] + bomb + whole[33:]) in ("decoded", "refused")


def test_random_damage_gives_a_picture_or_one_sentence() -> None:
    chance = random.Random(0)
    outcomes = set()
    noise = Image.fromarray(np.random.default_rng(0).integers(0, 256, (24, 24, 3), np.uint8))
    for whole in (
        encoded(noise),
        encoded(noise, "JPEG"),
        encoded(noise.quantize(8), transparency=1),
    ):
        for _ in range(300):
            data = bytearray(whole)
            for _ in range(chance.randint(1, 4)):
                data[chance.randrange(len(data))] = chance.randrange(256)
            outcomes.add(attempt(bytes(data)))
    assert outcomes == {"decoded", "refused"}


@pytest.mark.parametrize(
    "path", ["/etc", "../outside", "set/../../outside", "C:\\x", "a\\b", "a\0b", "x" * 299]
)
def test_refuses_paths_outside_the_data_directory(tmp_path: Path, path: str) -> None:
    data_dir = tmp_path / "data"
    put(tmp_path / "outside", {"1.png": grey(1)})
    data_dir.mkdir()
    for act in (load, catalog.count, catalog.check):
        with pytest.raises(DatasetError, match="images_path="):
            act(config(path), data_dir)


def test_refuses_links_that_leave_the_data_directory(tmp_path: Path) -> None:
    data_dir = tmp_path / "data"
    put(tmp_path / "outside", {"1.png": grey(1)})
    put(data_dir / "set", {"2.png": grey(2)})
    (data_dir / "link").symlink_to(tmp_path / "outside")
    (data_dir / "link.zip").symlink_to(tmp_path / "outside.zip")
    (data_dir / "loop").symlink_to("loop")
    assert "leaves the data directory" in refusal("link", data_dir)
    assert "leaves the data directory" in refusal("link.zip", data_dir)
    assert "images_path='loop'" in refusal("loop", data_dir)
    (data_dir / "set" / "inner").symlink_to(tmp_path / "outside")  # a linked folder is not entered
    assert catalog.count(config(), data_dir) == 1
    (data_dir / "set" / "1.png").symlink_to(tmp_path / "outside" / "1.png")
    assert "leaves the data directory" in refusal("set", data_dir)


def test_follows_links_inside_the_data_directory(tmp_path: Path) -> None:
    put(tmp_path / "all", {"1.png": grey(1)})
    (tmp_path / "set").mkdir()
    (tmp_path / "set" / "first.png").symlink_to("../all/1.png")
    (tmp_path / "alias").symlink_to("set")
    assert load(config("alias"), tmp_path).images[0, 0, 0, 0] == 1


def test_refuses_what_is_no_file(tmp_path: Path) -> None:
    (tmp_path / "set").mkdir()
    os.mkfifo(tmp_path / "set" / "pipe.png")
    assert "pipe.png' is not a file" in refusal("set", tmp_path)


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


def test_refuses_large_files_and_too_many(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(tmp_path / "set", {"1.png": grey(1), "2.png": grey(2)})
    put_zip(tmp_path / "set.zip", {"1.png": grey(1)})
    monkeypatch.setattr(images, "MAX_BYTES", 20)
    for path in ("set", "set.zip"):
        assert "bytes, more than the 20 allowed" in refusal(path, tmp_path)
    monkeypatch.setattr(images, "MAX_MEMBERS", 1)
    assert "more than the 1 files allowed" in refusal("set", tmp_path)


def test_names_that_are_no_text_stay_printable(tmp_path: Path) -> None:
    put(tmp_path / "set", {os.fsdecode(b"\xff\n.png"): b"x"})
    refusal("set", tmp_path).encode()


def test_a_zip_is_closed_when_a_limit_or_damage_ends_the_reading_early(tmp_path: Path) -> None:
    put_zip(tmp_path / "set.zip", {"1.png": grey(1), "2.png": b"x"})
    load(config("set.zip", limit=1), tmp_path)
    refusal("set.zip", tmp_path)
    assert str(tmp_path / "set.zip") not in {
        os.path.realpath(f"/proc/self/fd/{fd}") for fd in os.listdir("/proc/self/fd")
    }


def test_a_hostile_zip_is_refused(tmp_path: Path) -> None:
    put_zip(tmp_path / "set.zip", {"../1.png": grey(1)})
    assert "refused" in refusal("set.zip", tmp_path)
    with pytest.raises(DatasetError, match="refused"):
        catalog.count(config("set.zip"), tmp_path)
