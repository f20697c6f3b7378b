"""What is observed of showers: angle, sums, moments, hits, spectrum of every event, gathered batch
by batch.

About 0.9 kB an event are kept (a file of 10,000: 9 MB), so that any bin of energy and angle can be
looked at afterwards. The definitions are those of the 3DGAN's own validation (docs/showers.md),
without ROOT. Axes are x, y, z in units of cells.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np
import numpy.typing as npt

from ganboard.gan.data.dataset import DatasetError

Floats = npt.NDArray[np.float64]
Array = npt.NDArray[np.floating]

NO_ANGLE = 100.0  # of an empty event, as CERN's files have it
# stored units; the eighth bin is the empty cells
BIN_LIMITS = (0.05, 0.03, 0.02, 0.0125, 0.008, 0.003, 0.0)
HIT_THRESHOLDS = (2e-4, 3e-4)  # GeV
# log10 of a cell's energy in GeV: edges of the spectrum, thresholds of the sparsity
DECADES = np.arange(-13, 1.25, 0.25)
_TINY = 1e-12  # squared cells, against a division by zero at the barycentre


def measured_angle(cells: Array) -> Floats:
    """The angle (rad) [n] that the tracks in cells [n, x, y, z] make with the y axis, of any unit
    of energy; 100.0 for an empty event.

    The `ang` head of the 3DGAN: the slope m = dy / sqrt(dx^2 + dz^2) from the event's barycentre to
    that of every layer, negated in front of it; the mean of pi/2 - atan(m) over the layers that are
    not empty, weighted by z (G. Khattak et al., Eur. Phys. J. C 82 (2022) 386, doi
    10.1140/epjc/s10052-022-10258-4).
    """
    xz, yz = cells.sum(2, dtype=np.float64), cells.sum(1, dtype=np.float64)  # [n, x, z], [n, y, z]
    layers = xz.sum(1)  # [n, z]
    total = layers.sum(1, keepdims=True)
    nx, ny, nz = cells.shape[1:]
    x, y, z = (np.arange(size) + 0.5 for size in (nx, ny, nz))
    x_sums, y_sums = np.einsum("nxz,x->nz", xz, x), np.einsum("nyz,y->nz", yz, y)
    dx, dy = (
        _share(sums, layers) - _share(sums.sum(1, keepdims=True), total)
        for sums in (x_sums, y_sums)
    )
    dz = z - _share((layers * z).sum(1, keepdims=True), total)
    slope = np.where(dz < 0, -1, 1) * dy / np.sqrt(dx**2 + dz**2 + _TINY)
    weight = z * (layers > 0)
    angle = _share(((np.pi / 2 - np.arctan(slope)) * weight).sum(1), weight.sum(1))
    return np.where(total[:, 0] > 0, angle, NO_ANGLE)


def cell_bins(cells: Array, power: float = 1.0) -> npt.NDArray[np.int64]:
    """Cells [n, 8] of each event above 0.05, from 0.03 up to that, and so on down to 0, and last
    the empty ones.

    `cells` [n, x, y, z] are stored units to the `power`, and so are then the limits.
    """
    flat = cells.reshape(len(cells), -1)
    above = [np.count_nonzero(flat > np.float32(limit**power), axis=1) for limit in BIN_LIMITS]
    return np.diff(
        np.stack([np.zeros(len(cells), np.int64), *above, np.full(len(cells), flat.shape[1])], 1),
        axis=1,
    )


@dataclass(frozen=True, eq=False)
class Observed:
    """Observables of n events, one row each; energies in GeV, lengths in cells, angles in rad."""

    energy: Floats  # [n] of the particle
    theta: Floats  # [n] the angle it is said to have
    angle: Floats  # [n] the angle measured
    total: Floats  # [n] sum of the cells
    # [n, 9] as MOMENTS: barycentre (indices from 0), then the second and third moment around it
    moments: Floats
    ratios: Floats  # [n, 3] shares of the energy in the first, second and last third of the layers
    hits: npt.NDArray[np.int64]  # [n, 2] cells above HIT_THRESHOLDS
    peak: npt.NDArray[np.int64]  # [n, 3] indices of the cell with the highest energy
    along_x: npt.NDArray[np.float32]  # [n, x] sums over the other two axes
    along_y: npt.NDArray[np.float32]  # [n, y]
    along_z: npt.NDArray[np.float32]  # [n, z]
    # [n, len(DECADES) + 1] cells per bin of DECADES, below and above included; empty cells are in
    # none
    spectrum: npt.NDArray[np.int32]
    shape: tuple[int, int, int]  # cells along x, y, z

    def __len__(self) -> int:
        return len(self.energy)

    @classmethod
    def of(cls, cells: Array, energy: Array, theta: Array) -> Observed:
        """One batch, of some hundred events at most: cells [n, x, y, z] in GeV, particle energies
        [n] in GeV, angles [n] in rad.

        Raises DatasetError for cells that are no energies.
        """
        n, nx, ny, nz = cells.shape
        flat = cells.reshape(n, -1)
        if not (flat.min() >= 0 and np.isfinite(flat.max())):
            raise DatasetError(
                "Showers have cells that are negative, infinite or NaN. Leave such events out."
            )
        sums = [
            cells.sum((2, 3), dtype=np.float64),
            cells.sum((1, 3), dtype=np.float64),
            cells.sum((1, 2), dtype=np.float64),
        ]
        total = sums[2].sum(1)
        along_x, along_y, along_z = (each.astype(np.float32) for each in sums)
        thirds = np.add.reduceat(sums[2], [0, nz // 3, 2 * nz // 3], axis=1)
        return cls(
            energy=np.asarray(energy, np.float64),
            theta=np.asarray(theta, np.float64),
            angle=measured_angle(cells),
            total=total,
            moments=_moments(sums, total),
            ratios=_share(thirds, total[:, np.newaxis]),
            hits=np.stack(
                [np.count_nonzero(flat > np.float32(limit), axis=1) for limit in HIT_THRESHOLDS], 1
            ),
            peak=np.stack(np.unravel_index(flat.argmax(1), (nx, ny, nz)), 1),
            along_x=along_x,
            along_y=along_y,
            along_z=along_z,
            spectrum=_spectrum(flat),
            shape=(nx, ny, nz),
        )

    @classmethod
    def join(cls, parts: list[Observed]) -> Observed:
        """The events of all parts (at least one), in their order; all of one shape."""
        (shape,) = {part.shape for part in parts}
        return cls(
            **{name: np.concatenate([getattr(part, name) for part in parts]) for name in _ROWS},
            shape=shape,
        )

    def near(
        self,
        *,
        energy: float | None = None,
        theta: float | None = None,
        width: float = 5,
        aperture: float = 0.1,
    ) -> Observed:
        """The events within `width` GeV of an energy and within `aperture` rad of an angle."""
        keep = np.ones(len(self), bool)
        if energy is not None:
            keep &= np.abs(self.energy - energy) <= width
        if theta is not None:
            keep &= np.abs(self.theta - theta) <= aperture
        return type(self)(**{name: getattr(self, name)[keep] for name in _ROWS}, shape=self.shape)

    @property
    def profiles(
        self,
    ) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.float32], npt.NDArray[np.float32]]:
        """Sums along x, y and z."""
        return self.along_x, self.along_y, self.along_z

    @property
    def sampling_fraction(self) -> Floats:
        """[n] sum of the cells over the particle's energy."""
        return self.total / self.energy

    @property
    def sparsity(self) -> Floats:
        """[len(DECADES)] mean share of the cells above each threshold."""
        above = self.spectrum.sum(0, dtype=np.float64)[::-1].cumsum()[::-1][1:]
        return np.asarray(above / (len(self) * np.prod(self.shape)))


_ROWS = [field.name for field in fields(Observed) if field.name != "shape"]


def _moments(sums: list[Floats], total: Floats) -> Floats:
    """[n, 9]: all first, all second, all third moments."""
    centres, second, third = [], [], []
    for along in sums:
        index = np.arange(along.shape[1])
        centre = _share(along @ index, total)
        offset = index - centre[:, np.newaxis]
        centres.append(centre)
        second.append(_share((along * offset**2).sum(1), total))
        third.append(_share((along * offset**3).sum(1), total))
    return np.stack([*centres, *second, *third], 1)


def _spectrum(flat: Array) -> npt.NDArray[np.int32]:
    event, cell = np.nonzero(flat > 0)
    place = np.searchsorted(DECADES, np.log10(flat[event, cell]), side="right")
    size = len(DECADES) + 1
    return (
        np.bincount(event * size + place, minlength=len(flat) * size)
        .reshape(-1, size)
        .astype(np.int32)
    )


def _share(part: Floats, whole: Floats) -> Floats:
    """part / whole, and 0 where the whole is empty."""
    return np.divide(
        part, whole, out=np.zeros(np.broadcast_shapes(part.shape, whole.shape)), where=whole > 0
    )
