"""Files of showers as a training takes them: several files as one, prepared, and read a batch at a
time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Self

import h5py
import numpy as np
import numpy.typing as npt

from ganboard.gan.data.dataset import DatasetError, reading
from ganboard.gan.models.gan3d.data.layouts import (
    REMEDY,
    VARIABLE,
    Layout,
    crop,
    find_array,
    open_showers,
    require_labels,
)
from ganboard.gan.models.gan3d.data.sampler import PER_GEV, Cells, Shower
from ganboard.gan.models.gan3d.observables import Floats, Observed, measured_angle

LEAST = 10.0  # prepared units: an event whose cells sum up to no more is left out, as 3DGAN does
ENERGY_UNIT = 100.0  # GeV
# stored units of one cell: no energy of a particle, and sums of such cells would leave float32
MOST = 1e9
_BATCH = 32  # events that `check` and `observe` hold at once

Angle = Literal["mtheta", "theta"]
Indices = npt.NDArray[np.int64]
Row = npt.NDArray[np.float32]


@dataclass(frozen=True)
class Preparation:
    """What happens to the cells before training: X * xscale; below the threshold 0; ecal = their
    sum; X^power."""

    xscale: float
    threshold: float
    power: float
    least: float = LEAST  # of ecal


@dataclass(frozen=True, eq=False)
class Batch:
    """b events, in the order they were asked for."""

    images: Cells  # [b, x, y, z] prepared cells
    energy: Row  # [b] of the particle, in 100 GeV
    angle: Row  # [b] rad
    ecal: Row  # [b] sum of the prepared cells before their power


@dataclass(frozen=True, eq=False)
class Report:
    """What a look at every event found; the last three are of the events kept."""

    events: int
    kept: Indices  # numbers of the events whose ecal is above the least
    energy_low: float  # GeV
    energy_high: float
    sampling_fraction: float  # mean


class Reader:
    """Files of one layout as one list of events; close it, or use it in a `with`. Raises
    DatasetError.

    Energies and angles are in memory, cells are read when asked for. `angle` is the array of the
    variable layout that has the angles to train on; where a file has none, and in the fixed layout,
    they are measured from the cells (`angle_source` says so).
    """

    def __init__(
        self,
        paths: Sequence[Path],
        preparation: Preparation | None = None,
        *,
        angle: Angle = "mtheta",
    ) -> None:
        if not paths:
            raise DatasetError("No file of showers was given. Name at least one.")
        self._files: list[_File] = []
        try:
            for path in paths:
                self._files.append(_File(path, angle))
            first = self._files[0]
            for file in self._files:
                if file.layout is not first.layout:
                    raise DatasetError(
                        f"{file.path} has layout {file.layout.name} and {first.path}"
                        f" {first.layout.name}: read them separately."
                    )
                if (file.angle is None) != (first.angle is None):
                    raise DatasetError(
                        f"Of {file.path} and {first.path} only one has {angle}: read them"
                        " separately."
                    )
        except BaseException:
            self.close()
            raise
        self.layout = first.layout
        self.angle_source = "cells" if first.angle is None else angle
        self.preparation = preparation or Preparation(
            self.layout.xscale, self.layout.threshold, self.layout.power
        )
        self.energy: Floats = np.concatenate([file.energy for file in self._files])  # [n] GeV
        self._starts = np.cumsum([0, *(len(file.energy) for file in self._files)])

    def __len__(self) -> int:
        """Events in the files, those that `check` does not keep included."""
        return len(self.energy)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        for file in self._files:
            file.close()

    @property
    def per_gev(self) -> float:
        """Prepared units, before the power, in a GeV."""
        return self.preparation.xscale * self.layout.per_gev

    def gev(self, images: Cells) -> Cells:
        """Prepared cells as GeV."""
        return _power(images.copy(), 1 / self.preparation.power) / np.float32(self.per_gev)

    def read(self, numbers: Indices) -> Batch:
        """The events with these numbers, 0 to len - 1, in any order. Raises DatasetError for cells
        that are no energies."""
        order = np.argsort(numbers, kind="stable")
        cells = np.empty((len(numbers), *self.layout.shape), np.float32)
        angle = np.empty(len(numbers), np.float64)
        place = np.searchsorted(self._starts, numbers[order], side="right") - 1
        for which in np.unique(place):
            rows = order[place == which]
            self._files[which].read(numbers[rows] - self._starts[which], rows, cells, angle)
        return _prepared(
            cells,
            self.energy[numbers],
            None if self.angle_source == "cells" else angle,
            self.preparation,
        )

    def batches(self, numbers: Indices, size: int) -> Iterator[Batch]:
        """These events, `size` at a time, the last batch smaller."""
        return (self.read(numbers[begin : begin + size]) for begin in range(0, len(numbers), size))

    def observe(self, numbers: Indices) -> Observed:
        """Observables of these events, with the angle of training as the one they are said to
        have."""
        parts = []
        for begin in range(0, len(numbers), _BATCH):
            rows = numbers[begin : begin + _BATCH]
            batch = self.read(rows)
            parts.append(Observed.of(self.gev(batch.images), self.energy[rows], batch.angle))
        return Observed.join(parts)

    def check(self, progress: Callable[[int, int], None] | None = None) -> Report:
        """Look at every event; `progress(done, all)` after some of them. Raises DatasetError for
        the first that cannot be used."""
        kept, fractions = [], []
        for begin in range(0, len(self), _BATCH):
            numbers = np.arange(begin, min(begin + _BATCH, len(self)))
            ecal = self.read(numbers).ecal
            above = ecal > self.preparation.least
            kept.append(numbers[above])
            fractions.append(ecal[above] / self.per_gev / self.energy[numbers[above]])
            if progress:
                progress(int(numbers[-1]) + 1, len(self))
        found = np.concatenate(kept)
        if not len(found):
            where = f"{self._files[0].path}{' and others' * (len(self._files) > 1)}"
            least = f"{self.preparation.least:g} ({self.preparation.least / self.per_gev:g} GeV)"
            raise DatasetError(
                f"None of the {len(self):,} events of {where} has cells that sum up to more than"
                f" {least}: name files with larger showers."
            )
        energy = self.energy[found]
        return Report(
            len(self),
            found,
            float(energy.min()),
            float(energy.max()),
            float(np.concatenate(fractions).mean()),
        )


def sampled(showers: Sequence[Shower], layout: Layout) -> Batch:
    """Showers of the sampler as a file of this layout would give them back."""
    cells = crop(np.stack([shower.cells for shower in showers]), layout.shape) / np.float32(
        PER_GEV / layout.per_gev
    )
    energy = np.array([shower.energy for shower in showers])
    return _prepared(
        cells, energy, None, Preparation(layout.xscale, layout.threshold, layout.power)
    )


def _prepared(cells: Cells, energy: Floats, angle: Floats | None, how: Preparation) -> Batch:
    """Stored cells [b, x, y, z], which are changed in place, and particles' energies in GeV; angles
    that are not given are measured."""
    if how.xscale != 1:
        cells *= np.float32(how.xscale)
    if how.threshold > 0:
        cells[cells < how.threshold] = 0
    ecal = cells.sum((1, 2, 3), dtype=np.float64).astype(np.float32)
    angle = measured_angle(cells) if angle is None else angle
    return Batch(
        _power(cells, how.power),
        (energy / ENERGY_UNIT).astype(np.float32),
        angle.astype(np.float32),
        ecal,
    )


class _File:
    """One open file: its labels in memory, its cells on disk."""

    def __init__(self, path: Path, angle: Angle) -> None:
        self.path = path
        self._file, self.layout = open_showers(path)
        try:
            with reading(path, REMEDY):
                self._cells: h5py.Dataset = self._file["ECAL"]
                label = self._file[self.layout.label]
                self.energy = np.asarray(
                    label[:, 1] if label.ndim == 2 and label.shape[1] > 1 else label[:], np.float64
                ).reshape(-1)
                self.angle = self._angle(angle) if self.layout is VARIABLE else None
            self._require(
                np.isfinite(self.energy) & (self.energy > 0),
                "a particle energy that is not above 0 GeV",
            )
            if self.angle is not None:
                self._require(np.isfinite(self.angle), f"a {angle} that is no number")
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        self._file.close()

    def read(self, numbers: Indices, rows: Indices, cells: Cells, angle: Floats) -> None:
        """Events `numbers` (ascending) into these rows of cells and angle."""
        with reading(self.path, REMEDY):
            for number, row in zip(numbers.tolist(), rows.tolist(), strict=True):
                self._cells.read_direct(cells, np.s_[number], np.s_[row])
        if self.angle is not None:
            angle[rows] = self.angle[numbers]
        flat = cells.reshape(len(cells), -1)[rows]
        good = (flat.min(1) >= 0) & (flat.max(1) <= MOST)  # NaN is neither
        if not good.all():
            raise self._bad(
                int(numbers[good.argmin()]),
                f"cells that are no numbers, negative or above {MOST:g}",
            )

    def _angle(self, name: Angle) -> Floats | None:
        found = find_array(self._file, name, self.path)
        if found is None:
            return None
        require_labels(found, len(self._cells), self.path)
        return np.asarray(found[:], np.float64).reshape(-1)

    def _require(self, good: npt.NDArray[np.bool_], what: str) -> None:
        if not good.all():
            raise self._bad(int(good.argmin()), what)

    def _bad(self, number: int, what: str) -> DatasetError:
        return DatasetError(
            f"{self.path}: event {number:,} has {what}: {REMEDY}, or take that event out."
        )


def _power(cells: Cells, power: float) -> Cells:
    """Cells to a power, in place: nearly all are empty and need none."""
    if power != 1:
        filled = cells > 0
        cells[filled] **= np.float32(power)
    return cells
