"""Archives and data files from strangers: read in full under the limits, or refused in a sentence,
quickly and in little memory."""

from __future__ import annotations

import gzip
import io
import stat
import struct
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import strategies as st

from ganboard.gan.data import catalog, idx, load, npz
from ganboard.gan.data.archive import MAX_MEMBERS, SafeZip
from ganboard.gan.data.dataset import DatasetError
from ganboard.gan.models.dcgan.config import Config
from tests.factories import png
from tests.fuzz.cases import EXAMPLES, count, fuzzed, refusal
from tests.fuzz.measured import refused

Change = tuple[str, int, int]
CHANGES = st.lists(
    st.tuples(
        st.sampled_from(["flip", "set", "cut", "drop", "double", "zero", "max"]),
        st.integers(0, 2**16),
        st.integers(0, 255),
    ),
    max_size=6,
)


def changed(data: bytes, changes: list[Change]) -> bytes:
    """The bytes with some of them flipped, overwritten, left out, doubled, or the end cut off."""
    out = bytearray(data)
    for kind, place, value in changes:
        if not out:
            break
        at = place % len(out)
        if kind == "flip":
            out[at] ^= 1 << value % 8
        elif kind == "set":
            out[at] = value
        elif kind == "cut":
            del out[at:]
        elif kind == "drop":
            del out[at : at + 1 + value % 16]
        elif kind == "double":
            out[at:at] = out[at : at + 1 + value]
        else:
            out[at : at + 4] = (b"\0" if kind == "zero" else b"\xff") * 4
    return bytes(out)


def packed(
    members: dict[str, bytes], method: int = zipfile.ZIP_DEFLATED, **attributes: Any
) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", method) as archive:
        for name, data in members.items():
            info = zipfile.ZipInfo(name)
            info.compress_type = method
            for attribute, value in attributes.items():
                setattr(info, attribute, value)
            archive.writestr(info, data)
    return buffer.getvalue()


def saved(**arrays: Any) -> bytes:
    buffer = io.BytesIO()
    np.savez_compressed(buffer, **arrays)
    return buffer.getvalue()


def as_idx(array: np.ndarray[Any, Any]) -> bytes:
    return struct.pack(f">BBBB{array.ndim}I", 0, 0, 8, array.ndim, *array.shape) + array.tobytes()


IMAGES = np.random.default_rng(0).integers(0, 256, (6, 28, 28), dtype=np.uint8)
GOOD_ZIP = packed({"a/one.png": png(1), "two.png": png(2), "notes.txt": b"text" * 30, "a/": b""})
GOOD_NPZ = saved(x_train=IMAGES, y_train=np.arange(6))
GOOD_IDX = as_idx(IMAGES)
GOOD = {"zip": GOOD_ZIP, "npz": GOOD_NPZ, "idx": GOOD_IDX, "idx.gz": gzip.compress(GOOD_IDX)}


def read_all(path: Path) -> None:
    with SafeZip(path) as archive:
        for name in archive.members:
            archive.read(name)
            archive.head(name, 16)


def loaded(folder: Path, kind: str, data: bytes) -> str | None:
    """The refusal of a data set in this file, None when it was loaded: then its images are
    sound."""
    config = (
        Config(dataset="images", images_path="set.zip", batch_size=1)
        if kind == "zip"
        else Config(batch_size=1)
    )
    for file in folder.iterdir():
        file.unlink()
    name = {
        "zip": "set.zip",
        "npz": "mnist.npz",
        "idx": "train-images-idx3-ubyte",
        "idx.gz": "train-images-idx3-ubyte.gz",
    }[kind]
    (folder / name).write_bytes(data)
    if kind.startswith("idx"):
        (folder / "train-labels-idx1-ubyte").write_bytes(as_idx(np.arange(6, dtype=np.uint8)))
    refusal(DatasetError, catalog.count, config, folder)
    refusal(DatasetError, catalog.check, config, folder)
    found: list[Any] = []
    said = refusal(DatasetError, lambda: found.append(load(config, folder)))
    if not said:
        assert found[0].images.shape[1:] == (28, 28, 1)
        assert found[0].images.dtype == np.uint8
        assert found[0].labels is None or len(found[0].labels) == len(found[0].images)
    return said


@fuzzed(15, kind=st.sampled_from(sorted(GOOD)), changes=CHANGES)
def test_a_damaged_file_is_loaded_or_refused(
    tmp_path: Path, kind: str, changes: list[Change]
) -> None:
    said = loaded(tmp_path, kind, changed(GOOD[kind], changes))
    assert changes or said is None


@fuzzed(
    10, data=st.binary(max_size=300), kind=st.sampled_from(sorted(GOOD)), head=st.integers(0, 64)
)
def test_any_bytes_are_refused(tmp_path: Path, data: bytes, kind: str, head: int) -> None:
    loaded(tmp_path, kind, GOOD[kind][:head] + data)


LEADING = (
    "../x.png", "/x.png", "a/../../x.png", "C:x.png", "a\\b.png", "x\0y.png", "a//b.png", "./a.png",
    ".png", "a/", "con.png", "~/x.png"
)  # fmt: skip
KINDS = [
    0,
    stat.S_IFREG,
    stat.S_IFDIR,
    stat.S_IFLNK,
    stat.S_IFIFO,
    stat.S_IFCHR,
    stat.S_IFBLK,
    stat.S_IFSOCK,
]
TYPES = [
    "<u1",
    "<i8",
    "<f4",
    "|O",
    "|V8",
    "<U3",
    "|b1",
    "<c8",
    "<M8[s]",
    "[('a','<u1')]",
    ">u2",
    "'",
    "__import__('os')",
]


@fuzzed(
    10,
    names=st.lists(
        st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=12)
        | st.sampled_from(LEADING),
        min_size=1,
        max_size=4,
    ),
    mode=st.sampled_from(KINDS),
)
def test_names_and_kinds_of_members(tmp_path: Path, names: list[str], mode: int) -> None:
    path = tmp_path / "x.zip"
    path.write_bytes(packed({name: png(1) for name in names}, external_attr=mode << 16))
    if refusal(DatasetError, read_all, path) is None:
        with SafeZip(path) as archive:
            for name in archive.members:
                assert not name.startswith("/")
                assert ".." not in Path(name).parts
                assert "\\" not in name
                assert "\0" not in name
            assert mode in (0, stat.S_IFREG, stat.S_IFDIR)
    assert sorted(child.name for child in tmp_path.iterdir()) == ["x.zip"]


@fuzzed(
    10,
    array=st.sampled_from(TYPES),
    shape=st.lists(st.integers(-2, 2**40) | st.integers(0, 30), max_size=4),
    order=st.booleans(),
    tail=st.integers(0, 2000),
    version=st.sampled_from([(1, 0), (2, 0), (3, 0), (9, 9)]),
    extra=st.sampled_from(["", ", 'x': 1", ", 'descr': 1", "(" * 200, "#"]),
)
def test_headers_of_arrays(
    tmp_path: Path,
    array: str,
    shape: list[int],
    order: bool,
    tail: int,
    version: tuple[int, int],
    extra: str,
) -> None:
    descr = array if array.startswith("[") or array == "'" else repr(array)
    header = (
        f"{{'descr': {descr}, 'fortran_order': {order}, 'shape': {tuple(shape)}{extra}}}".ljust(
            100
        ).encode()
        + b"\n"
    )
    size = struct.pack("<H" if version == (1, 0) else "<I", len(header))
    body = b"\x93NUMPY" + bytes(version) + size + header + bytes(tail)
    path = tmp_path / "x.npz"
    path.write_bytes(packed({"x_train.npy": body}))
    refusal(DatasetError, npz.shape, path, "x_train")
    if refusal(DatasetError, npz.read, path, "x_train") is None:
        found = npz.read(path, "x_train")
        assert found.dtype.kind in "ui"
        assert found.nbytes <= tail


@fuzzed(
    10,
    magic=st.binary(min_size=4, max_size=4) | st.just(b"\0\0\x08\x03"),
    sizes=st.lists(st.integers(0, 2**32 - 1) | st.integers(0, 30), min_size=3, max_size=3),
    tail=st.integers(0, 3000),
    zipped=st.booleans(),
)
def test_headers_of_idx_files(
    tmp_path: Path, magic: bytes, sizes: list[int], tail: int, zipped: bool
) -> None:
    data = magic + struct.pack(">3I", *sizes) + bytes(tail)
    path = tmp_path / ("x.gz" if zipped else "x")
    path.write_bytes(gzip.compress(data) if zipped else data)
    refusal(DatasetError, idx.shape, path, 3)
    if refusal(DatasetError, idx.read, path, 3) is None:
        assert tail == np.prod(sizes)


# --- bombs and lies, built here because they are large ---


# less of it in the quick profile, where packing it would take longest
GIGABYTE = 1 << (30 if EXAMPLES else 25)


def overlapping() -> bytes:
    """Two hundred members that share one body, as in the better bombs."""
    one = packed({"a.png": png(1)})
    local, central = (
        one[: one.index(b"PK\x01\x02")],
        one[one.index(b"PK\x01\x02") : one.index(b"PK\x05\x06")],
    )
    entries = b"".join(central[:46] + f"{n:05d}".encode() + central[51:] for n in range(200))
    return (
        local
        + entries
        + struct.pack("<4sHHHHIIH", b"PK\x05\x06", 0, 0, 200, 200, len(entries), len(local), 0)
    )


def many(entries: int) -> bytes:
    central = b"PK\x01\x02" + bytes(24) + struct.pack("<H", 5) + bytes(16)
    directory = b"".join(central + b"%05x" % n for n in range(entries))
    tail = struct.pack("<4sHHHHIIH", b"PK\x05\x06", 0, 0, 0xFFFF, 0xFFFF, len(directory), 0, 0)
    return directory + tail


def lying(size: int) -> bytes:
    """The directory declares another size than the body has."""
    data = bytearray(packed({"a.png": bytes(5000)}, zipfile.ZIP_STORED))
    at = data.index(b"PK\x01\x02")
    data[at + 24 : at + 28] = struct.pack("<I", size)
    return bytes(data)


def zip64(total: int, offset: int) -> bytes:
    """The end of a zip64 directory that promises what is not there."""
    record = struct.pack(
        "<4sQHHIIQQQQ", b"PK\x06\x06", 44, 45, 45, 0, 0, total, total, 2**40, offset
    )
    locator = struct.pack("<4sIQI", b"PK\x06\x07", 0, 0, 1)
    return (
        record
        + locator
        + struct.pack("<4sHHHHIIH", b"PK\x05\x06", 0, 0, 0xFFFF, 0xFFFF, 0xFFFFFFFF, 0xFFFFFFFF, 0)
    )


def bomb(size: int) -> bytes:
    return packed({"a.png": bytes(size)})


def encrypted() -> bytes:
    data = bytearray(packed({"a.png": png(1)}))
    for at in (data.index(b"PK\x03\x04") + 6, data.index(b"PK\x01\x02") + 8):
        data[at] |= 1
    return bytes(data)


HOSTILE: dict[str, tuple[str, Callable[[], bytes]]] = {
    "overlapping members": ("zip", overlapping),
    "a million members": ("zip", lambda: many(1_000_000)),
    "one member too many": ("zip", lambda: many(MAX_MEMBERS + 1)),
    "a bomb of 1 GB": ("zip", lambda: bomb(GIGABYTE)),
    "a bomb in a bomb": ("zip", lambda: packed({"a.png": bomb(50 << 20)})),
    "declares too little": ("zip", lambda: lying(10)),
    "declares too much": ("zip", lambda: lying(400_000)),
    "encrypted": ("zip", encrypted),
    "a zip in a zip": ("zip", lambda: packed({"inner.zip": GOOD_ZIP})),
    "empty": ("zip", lambda: b""),
    "no member": ("zip", lambda: packed({})),
    "zip64 of nothing": ("zip", lambda: zip64(2**40, 0)),
    "zip64 beyond the file": ("zip", lambda: zip64(5, 2**50)),
    "zip64 before the file": ("zip", lambda: zip64(0, 2**64 - 1)),
    "objects": (
        "npz", lambda: saved(x_train=np.array([{}, print], dtype=object), y_train=np.arange(2)),
    ),
    "floats": ("npz", lambda: saved(x_train=IMAGES.astype(np.float32), y_train=np.arange(6))),
    "a header of 1 GB": (
        "npz",
        lambda: packed(
            {"x_train.npy": b"\x93NUMPY\x02\0" + struct.pack("<I", 1 << 30) + b"{" * 5000},
        ),
    ),
    "an array of 1 GB": (
        "npz",
        lambda: saved(x_train=np.zeros((GIGABYTE // 784, 28, 28), np.uint8), y_train=np.arange(2)),
    ),
    "a gzip of 1 GB": (
        "idx.gz",
        lambda: gzip.compress(struct.pack(">4B3I", 0, 0, 8, 3, 6, 28, 28) + bytes(GIGABYTE // 4)),
    ),
    "a header of 100 TB": (
        "idx", lambda: struct.pack(">4B3I", 0, 0, 8, 3, 2**32 - 1, 2**10, 2**10),
    ),
    "a gzip with a tail": ("idx.gz", lambda: gzip.compress(GOOD_IDX) + b"tail" * 9),
    "two gzips": ("idx.gz", lambda: gzip.compress(GOOD_IDX) + gzip.compress(b"more")),
}  # fmt: skip


def put(folder: Path, name: str) -> str:
    """The file of a hostile archive, and the expression that loads it."""
    kind, make = HOSTILE[name]
    file = {
        "zip": "set.zip",
        "npz": "mnist.npz",
        "idx": "train-images-idx3-ubyte",
        "idx.gz": "train-images-idx3-ubyte.gz",
    }[kind]
    folder.mkdir()
    (folder / file).write_bytes(make())
    (folder / "train-labels-idx1-ubyte").write_bytes(as_idx(np.arange(6, dtype=np.uint8)))
    config = (
        {"dataset": "images", "images_path": "set.zip", "batch_size": 1}
        if kind == "zip"
        else {"batch_size": 1}
    )
    return f"load(parse({config!r}), Path({str(folder)!r}))"


def test_bombs_are_refused_within_a_second_and_64_megabytes(tmp_path: Path) -> None:
    found = dict(
        zip(
            HOSTILE,
            refused([put(tmp_path / str(n), name) for n, name in enumerate(HOSTILE)]),
            strict=True,
        )
    )
    count("archives", len(found))
    assert not [name for name, one in found.items() if not one.sentence]
    assert max(one.seconds for one in found.values()) < 5, "the goal is 1 s on an idle machine"
    assert sum(one.extra_bytes for one in found.values()) < 128 << 20, "the goal is 64 MB for each"


def test_crc_is_checked(tmp_path: Path) -> None:
    data = bytearray(GOOD_ZIP)
    at = data.index(b"PK\x01\x02") + 16
    data[at : at + 4] = struct.pack("<I", zlib.crc32(b"other"))
    assert "cannot be read" in (loaded(tmp_path, "zip", bytes(data)) or "")
