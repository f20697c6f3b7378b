"""Files of showers as they are written: in CERN's layouts, wholly or not at all."""

from __future__ import annotations

import os
from pathlib import Path

import h5py
import numpy as np
import pytest

from ganboard.gan.data.dataset import DatasetError
from ganboard.gan.models.gan3d.data.layouts import VARIABLE
from ganboard.gan.models.gan3d.data.sampler import PER_GEV, Beam, Sampler, Shower
from ganboard.gan.models.gan3d.data.writer import write
from ganboard.gan.models.gan3d.observables import cell_bins, measured_angle
from tests.unit.gan.models.gan3d.data.shower_files import EVENTS


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
