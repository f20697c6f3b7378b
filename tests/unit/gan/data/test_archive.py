"""Hostile zips: every one must be refused in one sentence, quickly and without filling memory."""

from __future__ import annotations

import io
import stat
import struct
import subprocess
import sys
import time
import zipfile
from pathlib import Path

import pytest

from ganboard.gan.data import archive
from ganboard.gan.data.archive import SafeZip
from ganboard.gan.data.dataset import DatasetError


def make(path: Path, members: dict[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> Path:
    with zipfile.ZipFile(path, "w", method) as zipped:
        for name, data in members.items():
            zipped.writestr(name, data)
    return path


def read_all(path: Path) -> dict[str, bytes]:
    with SafeZip(path) as zipped:
        return {name: zipped.read(name) for name in zipped.members}


def refusal(path: Path) -> str:
    with pytest.raises(DatasetError) as caught:
        read_all(path)
    sentence = str(caught.value)
    assert str(path) in sentence
    assert sentence.endswith(".")
    assert "\n" not in sentence
    return sentence


def test_reads_members_and_leaves_directories_out(tmp_path: Path) -> None:
    path = make(tmp_path / "good.zip", {"a/": b"", "a/one.txt": b"1" * 30, "two.txt": b"22"})
    assert read_all(path) == {"a/one.txt": b"1" * 30, "two.txt": b"22"}
    with SafeZip(path) as zipped:
        assert zipped.head("a/one.txt", 5) == b"11111"


def test_reads_a_zip64_directory(tmp_path: Path) -> None:
    path = tmp_path / "many.zip"
    with zipfile.ZipFile(path, "w") as zipped:
        for number in range(66_000):
            zipped.writestr(zipfile.ZipInfo(f"{number}"), b"")
    with SafeZip(path) as safe:
        assert len(safe.members) == 66_000


def test_reads_a_zip_with_bytes_before_and_a_comment_after(tmp_path: Path) -> None:
    path = make(tmp_path / "plain.zip", {"one": b"1"})
    path.write_bytes(b"#!/bin/sh\n" + path.read_bytes())
    with zipfile.ZipFile(path, "a") as zipped:
        zipped.comment = b"made by hand"
    with SafeZip(path) as safe:
        assert safe.read("one") == b"1"


@pytest.mark.parametrize(
    "name", ["/etc/passwd", "../up.png", "a/../../up.png", "C:/windows.png", "a\\b.png"]
)
def test_refuses_names_that_lead_elsewhere(tmp_path: Path, name: str) -> None:
    assert "refused because its member" in refusal(make(tmp_path / "slip.zip", {name: b"x"}))


def test_refuses_a_nul_in_a_name(tmp_path: Path) -> None:
    path = make(tmp_path / "nul.zip", {"aXb.png": b"x"})
    path.write_bytes(path.read_bytes().replace(b"aXb", b"a\0b"))
    assert "NUL" in refusal(path)


@pytest.mark.parametrize("kind", [stat.S_IFLNK, stat.S_IFIFO, stat.S_IFCHR])
def test_refuses_links_and_devices(tmp_path: Path, kind: int) -> None:
    info = zipfile.ZipInfo("odd.png")
    info.external_attr = (kind | 0o777) << 16
    path = tmp_path / "odd.zip"
    with zipfile.ZipFile(path, "w") as zipped:
        zipped.writestr(info, "/etc/passwd")
    assert "link or device" in refusal(path)


@pytest.mark.filterwarnings("ignore:Duplicate name")
@pytest.mark.parametrize("second", ["one.png", "./one.png"])
def test_refuses_duplicates(tmp_path: Path, second: str) -> None:
    path = tmp_path / "twice.zip"
    with zipfile.ZipFile(path, "w") as zipped:
        zipped.writestr("one.png", b"1")
        zipped.writestr(second, b"2")
    assert "occurs twice" in refusal(path)


def test_refuses_encrypted_members(tmp_path: Path) -> None:
    path = make(tmp_path / "secret.zip", {"one.png": b"1"})
    data = bytearray(path.read_bytes())
    data[data.index(b"PK\x01\x02") + 8] |= 1
    path.write_bytes(data)
    assert "refused because its member 'one.png' is encrypted" in refusal(path)


def test_refuses_other_packing_methods(tmp_path: Path) -> None:
    assert "store or deflate" in refusal(
        make(tmp_path / "bz.zip", {"one.png": b"1"}, zipfile.ZIP_BZIP2)
    )


def test_refuses_overlapping_members(tmp_path: Path) -> None:
    """Two directory entries that share one local entry: the trick behind bombs that need no
    nesting."""
    path = make(tmp_path / "overlap.zip", {"1.png": b"x" * 200, "2.png": b"x" * 200})
    data = bytearray(path.read_bytes())
    second = data.index(b"PK\x01\x02", data.index(b"PK\x01\x02") + 4)
    struct.pack_into("<I", data, second + 42, 0)
    path.write_bytes(data)
    assert "overlaps" in refusal(path)


def test_refuses_a_bomb_by_its_ratio(tmp_path: Path) -> None:
    assert "more than 100 times" in refusal(
        make(tmp_path / "bomb.zip", {"zeros.png": bytes(20_000_000)})
    )


def test_refuses_too_much_in_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archive, "MAX_EXPANDED", 250)
    path = make(tmp_path / "much.zip", {f"{n}": b"x" * 100 for n in range(3)}, zipfile.ZIP_STORED)
    assert "expands to more than the 250 bytes" in refusal(path)


def test_refuses_a_large_member(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archive, "MAX_MEMBER", 99)
    assert "100 bytes, more than the 99" in refusal(
        make(tmp_path / "large.zip", {"x": b"x" * 100}, zipfile.ZIP_STORED)
    )


def test_refuses_a_large_file_before_reading_it(tmp_path: Path) -> None:
    path = tmp_path / "large.zip"
    with path.open("wb") as file:
        file.truncate(archive.MAX_COMPRESSED + 1)
    assert "more than the 67,108,864 allowed" in refusal(path)


@pytest.mark.parametrize("lie", [1, 99, 101, 150])
def test_refuses_a_member_that_lies_about_its_size(tmp_path: Path, lie: int) -> None:
    path = make(tmp_path / "liar.zip", {"x.png": bytes(range(100))})
    data = bytearray(path.read_bytes())
    struct.pack_into("<I", data, data.index(b"PK\x01\x02") + 24, lie)
    path.write_bytes(data)
    assert "cannot be read" in refusal(path)


def test_refuses_a_bad_checksum(tmp_path: Path) -> None:
    path = make(tmp_path / "crc.zip", {"x.png": b"hello world"}, zipfile.ZIP_STORED)
    path.write_bytes(path.read_bytes().replace(b"hello", b"jello"))
    assert "CRC" in refusal(path)


@pytest.mark.parametrize("keep", [0, 10, 60, 100, -1, -23])
def test_refuses_a_truncated_zip(tmp_path: Path, keep: int) -> None:
    path = make(tmp_path / "cut.zip", {"x.png": b"hello world"})
    path.write_bytes(path.read_bytes()[:keep])
    assert "cannot be read" in refusal(path)


def test_refuses_what_is_no_zip_or_not_there(tmp_path: Path) -> None:
    path = tmp_path / "text.zip"
    path.write_text("not a zip")
    assert "not a zip file" in refusal(path)
    assert "No such file" in refusal(tmp_path / "absent.zip")


def test_every_flipped_byte_gives_data_or_one_sentence(tmp_path: Path) -> None:
    good = make(
        tmp_path / "good.zip", {"a.png": b"abc" * 20, "b.png": bytes(range(64))}
    ).read_bytes()
    path = tmp_path / "flipped.zip"
    refused = 0
    for position in range(len(good)):
        path.write_bytes(good[:position] + bytes([good[position] ^ 0xFF]) + good[position + 1 :])
        try:
            read_all(path)
        except DatasetError:
            refused += 1
    assert refused > len(good) / 2


def test_a_million_members_are_refused_in_a_second_and_little_memory(tmp_path: Path) -> None:
    path = tmp_path / "million.zip"
    local = struct.pack("<4s5H3I2H", b"PK\x03\x04", 20, 0, 0, 0, 0, 0, 0, 0, 1, 0) + b"x"
    entry = (
        struct.pack("<4s6H3I5H2I", b"PK\x01\x02", 20, 20, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0)
        + b"x"
    )
    out = io.BytesIO()
    out.write(local + entry * 1_000_000)
    # The end record claims one member: only the directory itself can be believed.
    out.write(
        struct.pack("<4s4H2IH", b"PK\x05\x06", 0, 0, 1, 1, len(entry) * 1_000_000, len(local), 0)
    )
    path.write_bytes(out.getvalue())
    script = (
        "import resource, sys, time; from pathlib import Path; from ganboard.gan.data.archive"
        " import SafeZip; from ganboard.gan.data.archive import DatasetError\nbefore ="
        " resource.getrusage(resource.RUSAGE_SELF).ru_maxrss; start = time.monotonic()\ntry:"
        " SafeZip(Path(sys.argv[1]))\nexcept DatasetError as error: print(error,"
        " file=sys.stderr)\nprint(time.monotonic() - start,"
        " resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, str(path)], capture_output=True, text=True, check=True
    )
    seconds, kilobytes = (float(value) for value in done.stdout.split())
    assert "more than 200,000 members" in done.stderr
    assert seconds < 3  # 0.3 s alone on a slow core; the rest is for a busy machine
    assert kilobytes < 64 * 1024


def test_closes_the_file_it_refuses(tmp_path: Path) -> None:
    path = make(tmp_path / "slip.zip", {"../x": b"x"})
    before = time.monotonic()
    for _ in range(1100):  # more than the usual limit of open files, were they leaked
        with pytest.raises(DatasetError):
            SafeZip(path)
    assert time.monotonic() - before < 10
