"""Files of showers: what is written is read again, and nothing else is."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

from ganboard.gan.data.dataset import DatasetError
from ganboard.gan.models.gan3d.data.layouts import FIXED, LAYOUTS, VARIABLE, Layout, crop
from ganboard.gan.models.gan3d.data.reader import Preparation, Reader
from ganboard.gan.models.gan3d.data.sampler import PER_GEV, Beam, Sampler, Shower
from ganboard.gan.models.gan3d.data.splits import particle, split
from ganboard.gan.models.gan3d.data.writer import write
from ganboard.gan.models.gan3d.observables import cell_bins, measured_angle

EVENTS = 40


@pytest.fixture(scope="module")
def showers() -> list[Shower]:
    return list(Sampler(seed=9).events(EVENTS))


@pytest.fixture(scope="module")
def originals(showers: list[Shower], tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("showers")
    paths = {name: folder / f"Ele_{name}.h5" for name in LAYOUTS}
    for name, layout in LAYOUTS.items():
        write(paths[name], layout, showers, EVENTS)
    return paths


@pytest.fixture
def copy(originals: dict[str, Path], tmp_path: Path) -> Callable[[Layout], Path]:
    def make(layout: Layout) -> Path:
        path = tmp_path / originals[layout.name].name
        path.write_bytes(originals[layout.name].read_bytes())
        return path

    return make


def test_the_variable_layout_is_that_of_cern(
    showers: list[Shower], originals: dict[str, Path]
) -> None:
    with h5py.File(originals["variable"]) as file:
        assert set(file) == {"ECAL", "energy", "theta", "eta", "mtheta", "sum", "bins"}
        ecal = file["ECAL"]
        assert (ecal.shape, ecal.dtype, ecal.chunks, ecal.compression) == (
            (EVENTS, 51, 51, 25),
            np.float32,
            (1, 51, 51, 25),
            "gzip",
        )
        cells = np.stack([shower.cells for shower in showers])
        np.testing.assert_array_equal(ecal[:], cells)
        assert file["energy"][:] == pytest.approx([s.energy for s in showers])
        assert file["theta"][:] == pytest.approx([s.theta for s in showers])
        assert file["mtheta"][:] == pytest.approx(measured_angle(cells))
        assert np.tan(file["theta"][:] / 2) == pytest.approx(np.exp(-file["eta"][:]), rel=1e-5)
        assert file["sum"][:] == pytest.approx(cells.sum((1, 2, 3)), rel=1e-5)
        np.testing.assert_array_equal(file["bins"][:], cell_bins(cells))
        assert {file[name].dtype for name in file} == {np.dtype(np.float32)}


def test_the_fixed_layout_is_that_of_cern(
    showers: list[Shower], originals: dict[str, Path]
) -> None:
    with h5py.File(originals["fixed"]) as file:
        assert set(file) == {"ECAL", "target"}
        assert (file["ECAL"].shape, file["ECAL"].chunks) == ((EVENTS, 25, 25, 25), (1, 25, 25, 25))
        inner = np.stack([shower.cells for shower in showers])[:, 13:38, 13:38]
        np.testing.assert_allclose(file["ECAL"][:], inner / PER_GEV, rtol=1e-6)
        assert file["target"].shape == (EVENTS, 2)
        assert file["target"][:, 1] == pytest.approx([s.energy for s in showers])


@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)
def test_what_is_read_is_prepared_as_for_training(
    layout: Layout, showers: list[Shower], originals: dict[str, Path]
) -> None:
    numbers = np.array([7, 3, 39, 0, 3])
    with Reader([originals[layout.name]]) as reader:
        assert (reader.layout, len(reader)) == (layout, EVENTS)
        batch = reader.read(numbers)
        back = reader.gev(batch.images)
    chosen = [showers[i] for i in numbers.tolist()]
    gev = crop(np.stack([s.cells for s in chosen]), layout.shape) / PER_GEV
    prepared = gev * layout.per_gev * layout.xscale
    prepared[prepared < layout.threshold] = 0
    np.testing.assert_allclose(batch.images, prepared**layout.power, rtol=1e-5)
    assert batch.images.dtype == np.float32
    assert batch.ecal == pytest.approx(prepared.sum((1, 2, 3)), rel=1e-5)
    assert batch.energy == pytest.approx([s.energy / 100 for s in chosen])
    assert batch.angle == pytest.approx(measured_angle(prepared), abs=1e-5)
    np.testing.assert_allclose(back, gev, atol=2e-6)


def test_the_angle_is_the_one_asked_for_or_measured(
    showers: list[Shower], copy: Callable[[Layout], Path]
) -> None:
    path, numbers = copy(VARIABLE), np.arange(4)
    with Reader([path], angle="theta") as reader:
        assert reader.angle_source == "theta"
        assert reader.read(numbers).angle == pytest.approx([s.theta for s in showers[:4]])
    with Reader([path]) as reader:
        assert reader.angle_source == "mtheta"
        labelled = reader.read(numbers).angle
    with h5py.File(path, "a") as file:
        del file["mtheta"]
    with Reader([path]) as reader:
        assert reader.angle_source == "cells"
        assert reader.read(numbers).angle == pytest.approx(labelled, abs=1e-5)


def test_threshold_and_cut_leave_cells_and_events_out(copy: Callable[[Layout], Path]) -> None:
    path = copy(VARIABLE)
    with h5py.File(path, "a") as file:
        file["ECAL"][3] = 0
        file["ECAL"][5] *= 10 / file["ECAL"][5].sum() * 0.99
    with Reader([path]) as reader:
        report = reader.check()
        assert report.events == EVENTS
        assert report.kept.tolist() == [i for i in range(EVENTS) if i not in (3, 5)]
    with Reader([path], Preparation(xscale=2, threshold=0.5, power=1, least=10)) as reader:
        images = reader.read(np.array([5, 6])).images
        assert 5 in reader.check().kept or images[0].sum() <= 10
        assert images[images > 0].min() >= 0.5
        assert reader.per_gev == 100


def test_several_files_are_one(originals: dict[str, Path], copy: Callable[[Layout], Path]) -> None:
    other = copy(VARIABLE)
    with h5py.File(other, "a") as file:
        file["energy"][:] += 1
    progress: list[tuple[int, int]] = []
    with Reader([originals["variable"], other]) as reader:
        assert len(reader) == 2 * EVENTS
        mixed = reader.read(np.array([EVENTS + 2, 2, EVENTS + 1]))
        apart = [reader.read(np.array([number])) for number in (EVENTS + 2, 2, EVENTS + 1)]
        np.testing.assert_array_equal(mixed.images, np.concatenate([each.images for each in apart]))
        np.testing.assert_array_equal(mixed.angle, np.concatenate([each.angle for each in apart]))
        assert mixed.energy[0] == pytest.approx(mixed.energy[1] + 0.01)
        assert [len(batch.images) for batch in reader.batches(np.arange(70), 32)] == [32, 32, 6]
        report = reader.check(lambda done, total: progress.append((done, total)))
        assert len(reader.observe(report.kept[::9])) == 9
    assert progress[-1] == (80, 80)
    assert (100, 201) < (report.energy_low, report.energy_high) < (102, 203)
    assert 0.018 < report.sampling_fraction < 0.022


def test_layouts_do_not_mix(originals: dict[str, Path]) -> None:
    with pytest.raises(
        DatasetError,
        match=r"fixed\.h5 has layout fixed and .*variable\.h5 variable: read them separately",
    ):
        Reader([originals["variable"], originals["fixed"]])
    with pytest.raises(DatasetError, match="No file of showers was given"):
        Reader([])


def replace(path: Path, name: str, values: Any, **how: Any) -> None:
    with h5py.File(path, "a") as file:
        if name in file:
            del file[name]
        if values is not None:
            file.create_dataset(name, data=values, **how)


def put(path: Path, name: str, where: Any, value: float) -> None:
    with h5py.File(path, "a") as file:
        file[name][where] = value


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


def flip(path: Path) -> None:
    with h5py.File(path) as file:
        begin = file["ECAL"].id.get_chunk_info(5).byte_offset
    data = bytearray(path.read_bytes())
    data[begin : begin + 64] = bytes(64)
    path.write_bytes(data)


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
STREAMING: dict[str, tuple[Callable[[Path], object], str]] = {
    "NaN": (
        lambda p: put(p, "ECAL", (6, 1, 2, 3), np.nan),
        "event 6 has cells that are no numbers, negative or above",
    ),
    "infinite": (lambda p: put(p, "ECAL", (39, 1, 2, 3), np.inf), "event 39 has cells"),
    "negative": (lambda p: put(p, "ECAL", (0, 50, 50, 24), -1e-9), "event 0 has cells"),
    "beyond float32": (lambda p: put(p, "ECAL", (4, slice(9), 0, 0), 3e38), "event 4 has cells"),
    "damaged gzip": (flip, "cannot be read"),
    "nothing but empty events": (
        lambda p: put(p, "ECAL", ..., 0),
        (
            r"None of the 40 events of .* has cells that sum up to more than 10 \(0\.2 GeV\): name"
            r" files"
        ),
    ),
}


def one_sentence(error: pytest.ExceptionInfo[DatasetError], path: Path) -> None:
    text = str(error.value)
    assert str(path) in text
    assert text.endswith(".")
    assert "\n" not in text
    assert ":" in text  # and then the remedy


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


@pytest.mark.parametrize("damage", STREAMING)
def test_bad_cells_are_found_by_the_check(copy: Callable[[Layout], Path], damage: str) -> None:
    path = copy(VARIABLE)
    damaging, words = STREAMING[damage]
    damaging(path)
    with Reader([path]) as reader, pytest.raises(DatasetError, match=words) as error:
        reader.check()
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


def test_files_of_other_writers_are_read(
    copy: Callable[[Layout], Path], originals: dict[str, Path]
) -> None:
    path = copy(VARIABLE)
    with h5py.File(path) as file:
        cells, energy = file["ECAL"][:], file["energy"][:]
    replace(
        path,
        "ECAL",
        cells.astype(np.float64),
        chunks=(4, 51, 51, 25),
        compression="gzip",
        shuffle=True,
        fletcher32=True,
    )
    replace(path, "energy", energy[:, np.newaxis].astype(np.float64))
    numbers = np.arange(EVENTS)
    with Reader([path]) as reader, Reader([originals["variable"]]) as plain:
        np.testing.assert_array_equal(reader.read(numbers).images, plain.read(numbers).images)
        np.testing.assert_array_equal(reader.energy, plain.energy)


def test_the_same_showers_make_the_same_file(
    tmp_path: Path, showers: list[Shower], originals: dict[str, Path]
) -> None:
    progress: list[tuple[int, int]] = []
    path = tmp_path / "again.h5"
    size = write(
        path, VARIABLE, iter(showers), EVENTS, lambda done, total: progress.append((done, total))
    )
    assert path.read_bytes() == originals["variable"].read_bytes()
    assert size == path.stat().st_size
    assert progress == [(32, 40), (40, 40)]


def test_a_file_is_written_wholly_or_not_at_all(tmp_path: Path, showers: list[Shower]) -> None:
    path = tmp_path / "new.h5"

    def interrupt(_done: int, _total: int) -> None:
        assert not path.exists()
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write(path, VARIABLE, showers, EVENTS, interrupt)
    with pytest.raises(DatasetError, match="ended after 40 of 41: ask for fewer"):
        write(path, VARIABLE, showers, EVENTS + 1)
    assert list(tmp_path.iterdir()) == []
    path.write_text("mine")
    with pytest.raises(DatasetError, match=r"already exists\. Choose a new file name"):
        write(path, VARIABLE, showers, EVENTS)
    assert path.read_text() == "mine"
    with pytest.raises(DatasetError, match=r"cannot be written .*No such file"):
        write(tmp_path / "nowhere" / "new.h5", VARIABLE, showers, EVENTS)
    with pytest.raises(DatasetError, match="cannot hold 0 events"):
        write(tmp_path / "other.h5", VARIABLE, showers, 0)


def test_too_little_room_is_said_before_anything_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    room = os.statvfs_result((4096, 4096, 1000, 3, 300, 0, 0, 0, 0, 255))
    monkeypatch.setattr(os, "statvfs", lambda _: room)
    with pytest.raises(
        DatasetError,
        match=r"need up to 20\.81 GB and 0\.00 GB are free in .*: make room or write fewer",
    ):
        write(tmp_path / "new.h5", VARIABLE, iter(()), 1_000_000)
    assert list(tmp_path.iterdir()) == []


def test_the_room_kept_free_is_enough_for_the_largest_showers(tmp_path: Path) -> None:
    from ganboard.gan.models.gan3d.data.writer import PACKED

    size = write(tmp_path / "large.h5", VARIABLE, Sampler(Beam(500, 500)).events(30), 30)
    assert size < PACKED * 30 * 51 * 51 * 25 * 4


def test_files_are_split_by_particle_and_name() -> None:
    names = [f"Ele_VarAngleMeas_100_200_{i:03}.h5" for i in range(28)] + [
        "ChPiEscan_1_1.h5",
        "ChPiEscan_1_2.h5",
        "Gamma_1.h5",
    ]
    paths = [Path("data") / name for name in names]
    train, test = split(list(reversed(paths)))
    assert sorted(train + test) == sorted(paths)
    # 25 and 3, as 3DGAN's training had
    assert [path.name for path in test] == ["ChPiEscan_1_2.h5", *names[25:28]]
    assert particle(paths[0]) == "Ele"
    assert particle(Path("EleEscan_1_1.h5")) == "Ele"
    assert particle(Path("showers.h5")) == "showers"


def test_a_crop_is_the_middle() -> None:
    cells = np.arange(51 * 51 * 25, dtype=np.float32).reshape(51, 51, 25)
    np.testing.assert_array_equal(crop(cells, (25, 25, 25)), cells[13:38, 13:38])
    with pytest.raises(DatasetError, match="choose the other layout"):
        crop(cells[13:38], (51, 51, 25))
