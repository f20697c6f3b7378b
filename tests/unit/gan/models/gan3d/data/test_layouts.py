"""The layouts of files of showers; a file of neither is refused before its cells are read."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path

import h5py
import numpy as np
import pytest

from ganboard.gan.data.dataset import DatasetError
from ganboard.gan.models.gan3d.data.layouts import FIXED, VARIABLE, Layout, crop
from ganboard.gan.models.gan3d.data.reader import Reader
from tests.unit.gan.models.gan3d.data.shower_files import EVENTS, one_sentence, put, replace


def test_layouts_do_not_mix(originals: dict[str, Path]) -> None:
    with pytest.raises(
        DatasetError,
        match=r"fixed\.h5 has layout fixed and .*variable\.h5 variable: read them separately",
    ):
        Reader([originals["variable"], originals["fixed"]])
    with pytest.raises(DatasetError, match="No file of showers was given"):
        Reader([])


def outside(path: Path) -> str:
    """Another HDF5 file, with showers in it, that no file may make us read."""
    other = path.with_name("secret.h5")
    with h5py.File(other, "w") as file:
        file["ECAL"] = np.ones((EVENTS, 51, 51, 25), np.float32)
    return str(other)


def external_link(path: Path) -> None:
    other = outside(path)
    with h5py.File(path, "a") as file:
        del file["ECAL"]
        file["ECAL"] = h5py.ExternalLink(other, "/ECAL")


def soft_link_over_external(path: Path) -> None:
    other = outside(path)
    with h5py.File(path, "a") as file:
        del file["ECAL"]
        file["door"] = h5py.ExternalLink(other, "/")
        file["ECAL"] = h5py.SoftLink("/door/ECAL")


def external_storage(path: Path) -> None:
    secret = path.with_name("secret.bin")
    secret.write_bytes(bytes(4 * EVENTS))
    with h5py.File(path, "a") as file:
        del file["energy"]
        file.create_dataset(
            "energy", (EVENTS,), np.float32, external=[(str(secret), 0, 4 * EVENTS)]
        )


def virtual(path: Path) -> None:
    layout = h5py.VirtualLayout((EVENTS, 51, 51, 25), np.float32)
    layout[:] = h5py.VirtualSource(outside(path), "ECAL", shape=(EVENTS, 51, 51, 25))
    with h5py.File(path, "a") as file:
        del file["ECAL"]
        file.create_virtual_dataset("ECAL", layout)


def huge(path: Path, shape: tuple[int, ...], chunks: tuple[int, ...]) -> None:
    with h5py.File(path, "a") as file:
        del file["ECAL"]
        file.create_dataset("ECAL", shape, np.float32, chunks=chunks, maxshape=(None, 51, 51, 25))


def group(path: Path) -> None:
    with h5py.File(path, "a") as file:
        del file["energy"]
        file.create_group("energy")


CELLS = np.ones((EVENTS, 51, 51, 25), np.float16)
OPENING: dict[str, tuple[Callable[[Path], object], str]] = {
    "absent": (lambda p: p.unlink(), "is not a file"),
    "a folder": (lambda p: (p.unlink(), p.mkdir()), "is not a file"),
    "a pipe": (lambda p: (p.unlink(), os.mkfifo(p)), "is not a file"),
    "text": (lambda p: p.write_text("ECAL"), "is not HDF5"),
    "empty": (lambda p: p.write_bytes(b""), "is not HDF5"),
    "truncated": (lambda p: os.truncate(p, p.stat().st_size // 2), "cannot be read .*truncated"),
    "the signature alone": (lambda p: os.truncate(p, 8), "cannot be read"),
    "no cells": (
        lambda p: replace(p, "ECAL", None),
        r"it has no ECAL instead of ECAL of shape \(n, 51, 51, 25\) or \(n, 25, 25, 25\)",
    ),
    "other cells": (
        lambda p: replace(p, "ECAL", np.ones((2, 51, 51, 24), np.float32)),
        r"ECAL of shape \(2, 51, 51, 24\)",
    ),
    "flat cells": (lambda p: replace(p, "ECAL", np.ones(9, np.float32)), r"ECAL of shape \(9,\)"),
    "no events": (
        lambda p: replace(p, "ECAL", np.ones((0, 51, 51, 25), np.float32)),
        "0 events, which is outside",
    ),
    "whole numbers": (
        lambda p: replace(p, "ECAL", CELLS.astype(np.int32)), "ECAL is int32 instead of float32",
    ),
    "half precision": (lambda p: replace(p, "ECAL", CELLS), "ECAL is float16 instead of float32"),
    "no energies": (lambda p: replace(p, "energy", None), "it has no energy, which its layout"),
    "too few energies": (
        lambda p: replace(p, "energy", np.ones(3)),
        r"energy is float64 of shape \(3,\) instead of 40 numbers",
    ),
    "energies in words": (lambda p: replace(p, "energy", ["x"] * EVENTS), "energy is object"),
    "a group of energies": (group, "its energy is no array"),
    "a negative energy": (
        lambda p: put(p, "energy", 7, -1), "event 7 has a particle energy that is not above 0",
    ),
    "an energy of NaN": (lambda p: put(p, "energy", 0, np.nan), "event 0 has a particle energy"),
    "an infinite angle": (
        lambda p: put(p, "mtheta", 2, np.inf), "event 2 has a mtheta that is no number",
    ),
    "angles in two columns": (
        lambda p: replace(p, "mtheta", np.ones((EVENTS, 2))), "mtheta is float64 of shape",
    ),
    "an external link": (external_link, "its ECAL is a link"),
    "a soft link over an external one": (soft_link_over_external, "its ECAL is a link"),
    "external storage": (external_storage, "the values of its energy lie in other files"),
    "a virtual dataset": (virtual, "the values of its ECAL lie in other files"),
    "a foreign filter": (
        lambda p: replace(p, "ECAL", CELLS.astype(np.float32), compression="lzf"),
        "packed by filter 32000",
    ),
    "a huge shape": (
        lambda p: huge(p, (10**15, 51, 51, 25), (1, 51, 51, 25)),
        "1,000,000,000,000,000 events, which is outside",
    ),
    "huge chunks": (
        lambda p: huge(p, (EVENTS, 51, 51, 25), (5000, 51, 51, 25)),
        "its ECAL has chunks above 256 MiB",
    ),
}  # fmt: skip


@pytest.mark.parametrize("damage", OPENING)
def test_a_bad_file_is_refused_before_cells_are_read(
    copy: Callable[[Layout], Path], damage: str
) -> None:
    path = copy(VARIABLE)
    damaging, words = OPENING[damage]
    damaging(path)
    with pytest.raises(DatasetError, match=words) as error:
        Reader([path])
    one_sentence(error, path)


@pytest.mark.parametrize("shape", [(EVENTS,), (EVENTS, 1), (EVENTS - 1, 2), (EVENTS, 65)])
def test_a_target_of_another_shape_is_refused(
    copy: Callable[[Layout], Path], shape: tuple[int, ...]
) -> None:
    path = copy(FIXED)
    replace(path, "target", np.ones(shape))
    with pytest.raises(
        DatasetError,
        match=(
            f"its target is float64 of shape {re.escape(str(shape))} instead of 40 rows of 2 to 64"
            " numbers"
        ),
    ):
        Reader([path])


def test_a_crop_is_the_middle() -> None:
    cells = np.arange(51 * 51 * 25, dtype=np.float32).reshape(51, 51, 25)
    np.testing.assert_array_equal(crop(cells, (25, 25, 25)), cells[13:38, 13:38])
    with pytest.raises(DatasetError, match="choose the other layout"):
        crop(cells[13:38], (51, 51, 25))
