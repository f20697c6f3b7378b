"""CERN's two HDF5 layouts of showers, and opening a file in one of them without trusting it.

variable  ECAL [n, 51, 51, 25] in GeV x 50; energy (GeV), theta, eta, mtheta (measured; rad), sum,
bins fixed     ECAL [n, 25, 25, 25] in GeV; target [n, 2 or more]: particle id, energy (GeV), ...
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path

import h5py

from ganboard.gan.data.dataset import DatasetError, reading
from ganboard.gan.models.gan3d.data.sampler import PER_GEV, Cells

REMEDY = "copy it again from its origin, or write one with `ganboard data showers`"
MAX_EVENTS = 10_000_000  # of one file: its energies are read whole
MAX_CHUNK = 256 << 20  # bytes: HDF5 holds whole chunks in memory
MAX_COLUMNS = 64  # of target
# others may be plug-ins: foreign code
_FILTERS = {h5py.h5z.FILTER_DEFLATE, h5py.h5z.FILTER_SHUFFLE, h5py.h5z.FILTER_FLETCHER32}


@dataclass(frozen=True)
class Layout:
    """A layout, and how 3DGAN's training prepares its cells."""

    name: str
    shape: tuple[int, int, int]  # cells of an event
    label: str  # key of the energies
    per_gev: float  # stored units in a GeV
    xscale: float  # of the cells before training
    threshold: float  # cells below it, after xscale, count as empty
    power: float  # of the cells in training


VARIABLE = Layout("variable", (51, 51, 25), "energy", PER_GEV, 1, 0, 0.85)
FIXED = Layout("fixed", (25, 25, 25), "target", 1, 100, 1e-6, 1)
LAYOUTS = {layout.name: layout for layout in (VARIABLE, FIXED)}


def open_showers(path: Path) -> tuple[h5py.File, Layout]:
    """The open file and its layout; nothing but shapes and types has been read. Raises
    DatasetError.

    Refused is what would read other files (links, external storage, virtual datasets), run foreign
    code (filters that are plug-ins) or fill the memory (too many events, chunks that are too
    large).
    """
    with reading(path, REMEDY):
        if not path.is_file():
            raise DatasetError(f"{path} is not a file: name an HDF5 file of showers.")
        if not h5py.is_hdf5(path):
            raise DatasetError(f"{path} is not HDF5: {REMEDY}.")
        file = h5py.File(path, "r")
        try:
            return file, _layout(file, path)
        except BaseException:
            file.close()
            raise


def find_array(file: h5py.File, name: str, path: Path) -> h5py.Dataset | None:
    """The array with this name, or None when there is none. Raises DatasetError for one that is not
    safe to read."""
    link = file.get(name, getlink=True)
    if link is None:
        return None
    if not isinstance(link, h5py.HardLink):
        raise _refused(path, f"its {name} is a link, which could lead to another file")
    found = file[name]
    if not isinstance(found, h5py.Dataset):
        raise _refused(path, f"its {name} is no array")
    properties = found.id.get_create_plist()
    if properties.get_layout() == h5py.h5d.VIRTUAL or properties.get_external_count():
        raise _refused(path, f"the values of its {name} lie in other files")
    if (
        unknown := {properties.get_filter(i)[0] for i in range(properties.get_nfilters())}
        - _FILTERS
    ):
        raise _refused(
            path,
            f"its {name} is packed by filter {min(unknown)}: only gzip, shuffle and fletcher32 are"
            " read",
        )
    if found.chunks and math.prod(found.chunks) * found.dtype.itemsize > MAX_CHUNK:
        raise _refused(path, f"its {name} has chunks above {MAX_CHUNK >> 20} MiB")
    return found


def require_labels(found: h5py.Dataset, events: int, path: Path) -> None:
    """Refuses labels that are not one number for each event, [n] or [n, 1]."""
    if found.dtype.kind not in "fiu" or found.shape not in {(events,), (events, 1)}:
        name = found.name.removeprefix("/")
        raise _refused(
            path,
            f"its {name} is {found.dtype} of shape {found.shape} instead of {events:,} numbers",
        )


def _layout(file: h5py.File, path: Path) -> Layout:
    cells = find_array(file, "ECAL", path)
    layouts = [
        layout
        for layout in LAYOUTS.values()
        if cells is not None and cells.shape[1:] == layout.shape
    ]
    if cells is None or not layouts:
        seen = "no ECAL" if cells is None else f"ECAL of shape {cells.shape}"
        raise _refused(
            path,
            f"it has {seen} instead of ECAL of shape {' or '.join(map(_shape, LAYOUTS.values()))}",
        )
    (layout,) = layouts
    if cells.dtype.kind != "f" or cells.dtype.itemsize not in (4, 8):
        raise _refused(path, f"its ECAL is {cells.dtype} instead of float32 or float64")
    events = len(cells)
    if not 0 < events <= MAX_EVENTS:
        raise _refused(
            path, f"it says to hold {events:,} events, which is outside 1 to {MAX_EVENTS:,}"
        )
    label = find_array(file, layout.label, path)
    if label is None:
        raise _refused(path, f"it has no {layout.label}, which its layout ({layout.name}) needs")
    if layout is VARIABLE:
        require_labels(label, events, path)
    elif (
        label.dtype.kind not in "fiu"
        or label.ndim != 2
        or len(label) != events
        or not 2 <= label.shape[1] <= MAX_COLUMNS
    ):
        raise _refused(
            path,
            f"its target is {label.dtype} of shape {label.shape} instead of {events:,} rows of 2 to"
            f" {MAX_COLUMNS} numbers",
        )
    return layout


def _shape(layout: Layout) -> str:
    return "(n, {}, {}, {})".format(*layout.shape)


def _refused(path: Path, why: str) -> DatasetError:
    return DatasetError(f"{path} is refused because {why}: {REMEDY}.")


def crop(cells: Cells, shape: tuple[int, int, int]) -> Cells:
    """The middle of cells [..., x, y, z] that has the given shape; [13:38, 13:38, :] of 51 x 51 x
    25 for the fixed layout."""
    begin = [(have - want) // 2 for have, want in zip(cells.shape[-3:], shape, strict=True)]
    if min(begin) < 0:
        raise DatasetError(
            f"Events of {cells.shape[-3:]} cells are smaller than the {shape} of the layout: choose"
            " the other layout."
        )
    x, y, z = (slice(b, b + want) for b, want in zip(begin, shape, strict=True))
    return cells[..., x, y, z]
