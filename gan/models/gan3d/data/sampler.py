"""Showers without a simulation: random electrons in the calorimeter, spot by spot
(docs/showers.md).

Event n of a seed is the same whichever events are drawn before it: everything random in it comes
from Philox with the key (seed, 1) and the counter n. NumPy promises the raw numbers of Philox for
ever, those of its gamma and Poisson distributions only within a release.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ganboard.gan.config import ConfigError
from ganboard.gan.models.gan3d.data import profile
from ganboard.gan.models.gan3d.data.geometry import Calorimeter

Cells = npt.NDArray[np.float32]
Reals = npt.NDArray[np.float64]

PER_GEV = 50  # stored units of CERN's variable-angle files in a GeV
ENERGIES = (2.0, 500.0)  # GeV: CERN's files span these
ANGLES = (30.0, 150.0)  # degrees
_STREAM = 1  # second word of the key, 0 in the streams of a training (gan.rng.philox)


@dataclass(frozen=True, eq=False)
class Shower:
    """One event."""

    cells: Cells  # [x, y, z], stored units: 50 times the visible GeV
    energy: float  # of the particle, GeV
    theta: float  # between the track and the y axis of the face, rad; pi/2 is straight


@dataclass(frozen=True, eq=False)
class _Course:
    """What is drawn of an event before its spots."""

    rng: np.random.Generator  # draws the spots
    energy: float  # of the particle, GeV
    theta: float  # rad
    t: float  # depth of the maximum, X0
    alpha: float
    faces: Reals  # [z + 1] depth of the faces of the layers along the track, X0
    tau: Reals  # [z] relative depth of the middles of the layers
    seen: Reals  # [z] energy deposited in each layer as the sampling sees it, GeV


@dataclass(frozen=True)
class Beam:
    """Energies and angles, uniform between these. Raises ConfigError."""

    energy_low: float = 100.0  # GeV
    energy_high: float = 200.0
    theta_low: float = 60.0  # degrees
    theta_high: float = 120.0

    def __post_init__(self) -> None:
        for name, unit, (low, high) in (("energy", "GeV", ENERGIES), ("theta", "degrees", ANGLES)):
            first, last = getattr(self, f"{name}_low"), getattr(self, f"{name}_high")
            if not low <= first <= last <= high:
                raise ConfigError(
                    f"{name} from {first:g} to {last:g} {unit} is outside what the sampler covers: "
                    f"choose a range within {low:g} to {high:g} {unit}, the lower end first."
                )


class Sampler:
    """A source of showers of one seed (0 to 2^64 - 1)."""

    def __init__(
        self, beam: Beam | None = None, calorimeter: Calorimeter | None = None, seed: int = 0
    ) -> None:
        if not 0 <= seed < 2**64:
            raise ConfigError(f"seed={seed} must be a whole number from 0 to {2**64 - 1}.")
        self.beam, self.calorimeter, self.seed = beam or Beam(), calorimeter or Calorimeter(), seed

    def events(self, count: int, first: int = 0) -> Iterator[Shower]:
        """`count` showers from number `first` on."""
        return (self.event(number) for number in range(first, first + count))

    def event(self, number: int) -> Shower:
        """Shower `number` (0 to 2^64 - 1) of this seed."""
        course = self._course(number)
        return Shower(self._cells(course), course.energy, course.theta)

    def layers(self, number: int) -> Reals:
        """Energy [z] that shower `number` gives to each layer, in stored units: its cells hold this
        except for what leaves by the sides."""
        return self._course(number).seen * self._stored

    @property
    def _stored(self) -> float:
        """Stored units of a GeV that was deposited."""
        return self.calorimeter.sampling_fraction * PER_GEV

    def _course(self, number: int) -> _Course:
        key = np.array([self.seed, _STREAM], np.uint64)
        counter = np.array([0, number, 0, 0], np.uint64)
        rng = np.random.Generator(np.random.Philox(key=key, counter=counter))
        energy = rng.uniform(self.beam.energy_low, self.beam.energy_high)
        theta = math.radians(rng.uniform(self.beam.theta_low, self.beam.theta_high))
        medium = self.calorimeter.medium
        means = profile.longitudinal(medium, energy)
        t, alpha = means.draw(rng.standard_normal(), rng.standard_normal())
        path = medium.inverse_fs / math.sin(theta)  # X0 of the slanted track in one layer
        faces = np.asarray(np.arange(self.calorimeter.nz + 1) * path, np.float64)
        deposited = energy * np.diff(profile.containment(faces, t, alpha))
        # of mean `deposited` and variance c^2 `deposited`: the sampling fluctuations
        seen = rng.gamma(deposited / medium.resolution**2, medium.resolution**2)
        tau = profile.relative_depth(faces[:-1] + path / 2, t, alpha, means.mean_ln_alpha)
        return _Course(rng, energy, theta, t, alpha, faces, tau, seen)

    def _cells(self, course: _Course) -> Cells:
        """Cells [x, y, z] in stored units: Poisson spots in every layer, at least one, each with an
        equal share of the layer's energy."""
        geometry, medium, rng = self.calorimeter, self.calorimeter.medium, course.rng
        spot_profile = profile.spot_profile(medium, course.t, course.alpha)
        shares = np.diff(profile.containment(course.faces, *spot_profile))
        # A layer without a spot would lose its energy
        counts = np.maximum(rng.poisson(profile.spots(medium, course.energy) * shares), 1)
        shape = profile.radial(medium, course.energy, course.tau)
        slope = math.tan(course.theta)

        layer = np.repeat(np.arange(geometry.nz), counts)
        kind, share, phi = rng.random((3, len(layer)), np.float32)
        moliere = medium.moliere * 10 / geometry.cell  # in cells
        core, tail, weight = (
            each.astype(np.float32)[layer]
            for each in (shape.core * moliere, shape.tail * moliere, shape.weight)
        )
        # the distribution function of 2rR^2/(r^2+R^2)^2 is r^2/(r^2+R^2)
        radius = np.where(kind < weight, core, tail) * np.sqrt(share / (1 - share))
        phi *= np.float32(2 * math.pi)
        lean = (
            (np.arange(geometry.nz) - (geometry.nz - 1) / 2)
            * geometry.pitch
            / geometry.cell
            / slope
        )
        x = geometry.nx / 2 + radius * np.cos(phi)
        across = radius * np.sin(phi) * np.float32(1 / math.sin(course.theta))
        y = (geometry.ny / 2 + lean).astype(np.float32)[layer] + across
        inside = (x >= 0) & (x < geometry.nx) & (y >= 0) & (y < geometry.ny)
        place = (
            x[inside].astype(np.intp) * geometry.ny + y[inside].astype(np.intp)
        ) * geometry.nz + layer[inside]
        spot = course.seen / counts * self._stored
        cells = np.bincount(place, weights=spot[layer[inside]], minlength=math.prod(geometry.shape))
        return cells.astype(np.float32).reshape(geometry.shape)
