"""What is read from files of showers, and what their check finds."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import h5py
import numpy as np
import pytest

from ganboard.gan.data.dataset import DatasetError
from ganboard.gan.models.gan3d.data.layouts import LAYOUTS, VARIABLE, Layout, crop
from ganboard.gan.models.gan3d.data.reader import Preparation, Reader
from ganboard.gan.models.gan3d.data.sampler import PER_GEV, Shower
from ganboard.gan.models.gan3d.observables import measured_angle
from tests.unit.gan.models.gan3d.data.shower_files import EVENTS, one_sentence, put, replace


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


def flip(path: Path) -> None:
    with h5py.File(path) as file:
        begin = file["ECAL"].id.get_chunk_info(5).byte_offset
    data = bytearray(path.read_bytes())
    data[begin : begin + 64] = bytes(64)
    path.write_bytes(data)


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


@pytest.mark.parametrize("damage", STREAMING)
def test_bad_cells_are_found_by_the_check(copy: Callable[[Layout], Path], damage: str) -> None:
    path = copy(VARIABLE)
    damaging, words = STREAMING[damage]
    damaging(path)
    with Reader([path]) as reader, pytest.raises(DatasetError, match=words) as error:
        reader.check()
    one_sentence(error, path)


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
