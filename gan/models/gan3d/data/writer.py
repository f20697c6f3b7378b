"""Showers into a file of one of CERN's layouts: all of it or none."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable
from itertools import islice
from pathlib import Path

import h5py
import numpy as np

from ganboard.gan import files
from ganboard.gan.data.dataset import DatasetError
from ganboard.gan.models.gan3d.data.layouts import MAX_EVENTS, VARIABLE, Layout, crop
from ganboard.gan.models.gan3d.data.sampler import PER_GEV, Shower
from ganboard.gan.models.gan3d.observables import cell_bins, measured_angle

Progress = Callable[[int, int], None]  # events done, events in all

BATCH = 32  # events written together
GZIP = 1  # level: higher ones cost time and win little on cells that are nearly all empty
# Of the cells' plain size, kept free before the first event: above what a 500 GeV electron takes
# (docs/showers.md).
PACKED = 0.08
ELECTRON = 11  # the Particle Data Group's number
_COLUMNS = ("energy", "theta", "eta", "mtheta", "sum")


def write(
    path: Path,
    layout: Layout,
    showers: Iterable[Shower],
    events: int,
    progress: Progress | None = None,
) -> int:
    """`events` showers into a new file at `path`, cells float32, gzip, a chunk for each event; its
    bytes.

    The same showers make the same file. Raises DatasetError; a file at `path` is never touched, and
    none is left half done.
    """
    path = path.expanduser().absolute()
    if not 0 < events <= MAX_EVENTS:
        raise DatasetError(f"A file cannot hold {events:,} events: choose 1 to {MAX_EVENTS:,}.")
    if path.exists():
        raise DatasetError(f"{path} already exists. Choose a new file name.")
    try:
        _require_room(path.parent, int(PACKED * 4 * math.prod(layout.shape) * events))
        with files.whole_file(path) as draft, h5py.File(draft.name, "w") as file:
            _fill(file, layout, showers, events, progress or (lambda _done, _total: None))
    except (OSError, RuntimeError) as error:  # HDF5 reports a full disk as either
        reason = " ".join((getattr(error, "strerror", None) or str(error)).split())
        raise DatasetError(
            f"{path} cannot be written ({reason}): free some space or name another folder,"
            " and try again."
        ) from error
    return path.stat().st_size


def _fill(
    file: h5py.File, layout: Layout, showers: Iterable[Shower], events: int, progress: Progress
) -> None:
    def create(name: str, *shape: int, **how: object) -> h5py.Dataset:
        return file.create_dataset(name, (events, *shape), np.float32, track_times=False, **how)

    ecal = create(
        "ECAL", *layout.shape, chunks=(1, *layout.shape), compression="gzip", compression_opts=GZIP
    )
    if layout is VARIABLE:
        columns = [create(name) for name in _COLUMNS]
        bins = create("bins", 8)
    else:
        target = create("target", 2)
    source = iter(showers)
    for begin in range(0, events, BATCH):
        batch = list(islice(source, min(BATCH, events - begin)))
        rows = slice(begin, begin + len(batch))
        if rows.stop < min(begin + BATCH, events):
            raise DatasetError(
                f"The source of showers ended after {rows.stop:,} of {events:,}: ask for fewer."
            )
        cells = crop(np.stack([shower.cells for shower in batch]), layout.shape)
        energy, theta = np.array([(shower.energy, shower.theta) for shower in batch]).T
        ecal[rows] = cells / np.float32(PER_GEV / layout.per_gev)
        if layout is VARIABLE:
            sums = cells.sum((1, 2, 3), dtype=np.float64)
            # the pseudorapidity of the angle: -ln tan(theta / 2)
            for column, values in zip(
                columns,
                (energy, theta, -np.log(np.tan(theta / 2)), measured_angle(cells), sums),
                strict=True,
            ):
                column[rows] = values
            bins[rows] = cell_bins(cells)
        else:
            target[rows] = np.stack([np.full(len(batch), ELECTRON), energy], 1)
        progress(rows.stop, events)


def _require_room(folder: Path, needed: int) -> None:
    disk = os.statvfs(folder)
    free = disk.f_bavail * disk.f_frsize
    if disk.f_blocks and free < needed:  # some file systems report no sizes
        raise DatasetError(
            f"The showers need up to {needed / 1e9:,.2f} GB and {free / 1e9:,.2f} GB are free in"
            f" {folder}: make room or write fewer."
        )
