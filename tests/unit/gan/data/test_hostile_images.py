"""Pictures that are damaged, disguised or oversized, and paths that lead elsewhere, are refused in
one sentence."""

from __future__ import annotations

import os
import random
import struct
import zlib
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from ganboard.gan.data import DatasetError, catalog, decoding, images, load
from ganboard.gan.data.decoding import decode
from tests.unit.gan.data.pictures.files import config, encoded, grey, put, put_zip, refusal


def attempt(data: bytes) -> str:
    """Anything but a picture or a DatasetError fails the test."""
    try:
        return "decoded" if decode(data, "x").shape == (28, 28) else "misshapen"
    except DatasetError:
        return "refused"


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


def test_refuses_what_is_no_file(tmp_path: Path) -> None:
    (tmp_path / "set").mkdir()
    os.mkfifo(tmp_path / "set" / "pipe.png")
    assert "pipe.png' is not a file" in refusal("set", tmp_path)


def test_refuses_large_files_and_too_many(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(tmp_path / "set", {"1.png": grey(1), "2.png": grey(2)})
    put_zip(tmp_path / "set.zip", {"1.png": grey(1)})
    monkeypatch.setattr(decoding, "MAX_BYTES", 20)
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
