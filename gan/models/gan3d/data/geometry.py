"""The sampling calorimeter whose showers are learned, and the effective medium that a shower meets
in it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

from ganboard.gan.config import ConfigError

# MeV, of multiple scattering: R_M = E_s X0 / Ec (Particle Data Group, "Passage of particles through
# matter")
_SCALE_ENERGY = 21.2
_WIGMANS = 0.027  # of sqrt(GeV / mm); see Calorimeter.medium


@dataclass(frozen=True)
class Material:
    """An element of the stack; numbers from the Particle Data Group's "Atomic and nuclear
    properties of materials"."""

    z: float
    a: float  # g/mol
    density: float  # g/cm3
    x0: float  # radiation length, g/cm2
    mip: float  # least energy loss of a minimum ionising particle, MeV cm2/g

    @property
    def critical(self) -> float:
        """Critical energy in MeV: 2.66 (X0 Z/A)^1.1, X0 in g/cm2 (Grindhammer, Peters,
        hep-ex/0001020)."""
        return float(2.66 * (self.x0 * self.z / self.a) ** 1.1)


TUNGSTEN = Material(z=74, a=183.84, density=19.30, x0=6.76, mip=1.145)
SILICON = Material(z=14, a=28.0855, density=2.329, x0=21.82, mip=1.664)


@dataclass(frozen=True)
class Medium:
    """A stack of two materials as one homogeneous medium (Grindhammer, Peters, hep-ex/0001020)."""

    z: float
    x0: float  # cm of the stack's material, gaps left out
    critical: float  # MeV
    moliere: float  # cm of the stack as it is, gaps included
    inverse_fs: float  # thickness of a layer's two materials in units of X0
    e_hat: float  # visible e/mip, by the charges of the two materials
    resolution: float  # c of sigma(E)/E = c/sqrt(E), E in GeV


@dataclass(frozen=True)
class Calorimeter:
    """Cells, layers and visible share. The stack is the one that reproduces the leakage in CERN's
    published response; it is ours to choose.

    As high as the pitch of a layer, a cell keeps angles: what the track fit returns in units of
    cells is the particle's angle. Raises ConfigError.
    """

    nx: int = 51
    ny: int = 51
    nz: int = 25  # layers
    cell: float = 5.1  # mm, along x and y
    passive: Material = TUNGSTEN
    active: Material = SILICON
    passive_mm: float = 2.4
    active_mm: float = 0.5
    gap_mm: float = 2.2
    sampling_fraction: float = 0.0215  # of the deposited energy that is seen

    def __post_init__(self) -> None:
        for name, least in (("nx", 1), ("ny", 1), ("nz", 3)):
            if getattr(self, name) < least:
                raise ConfigError(
                    f"calorimeter: {name}={getattr(self, name)} is too small: it must be {least} or"
                    " more."
                )
        for name in ("cell", "passive_mm", "active_mm", "sampling_fraction"):
            if not 0 < getattr(self, name) < math.inf:
                raise ConfigError(
                    f"calorimeter: {name}={getattr(self, name)} must be a number above 0."
                )
        if not 0 <= self.gap_mm < math.inf:
            raise ConfigError(f"calorimeter: gap_mm={self.gap_mm} must be 0 or more.")

    @property
    def shape(self) -> tuple[int, int, int]:
        """Cells along x, y and z."""
        return self.nx, self.ny, self.nz

    @property
    def pitch(self) -> float:
        """From layer to layer, mm."""
        return self.passive_mm + self.active_mm + self.gap_mm

    @cached_property
    def medium(self) -> Medium:
        """The stack as one medium, by the mass weights w_i = rho_i d_i / sum: Z = sum w_i Z_i, 1/X0
        = sum w_i/X0_i (g/cm2), Ec = X0 sum w_i Ec_i/X0_i, R_M = 21.2 MeV X0/Ec, e_hat = 1/(1 +
        0.007 (Z_p - Z_a)) (hep-ex/0001020).

        The resolution is that of Wigmans for electromagnetic sampling calorimeters, c = 2.7 %
        sqrt(d/f) with the active layer's thickness d in mm and the sampling fraction f of minimum
        ionising particles ("Calorimetry", 2nd edition, Oxford 2017; also in Livan, Vercesi,
        Wigmans, CERN-95-02). It is not the fraction of electrons, `sampling_fraction`, that scales
        the cells.
        """
        stack = ((self.passive, self.passive_mm / 10), (self.active, self.active_mm / 10))
        surface = sum(material.density * cm for material, cm in stack)  # g/cm2 of one layer
        weighted = [(material, material.density * cm / surface) for material, cm in stack]
        x0 = 1 / sum(w / material.x0 for material, w in weighted)  # g/cm2
        critical = x0 * sum(w * material.critical / material.x0 for material, w in weighted)
        lost, seen = (material.mip * material.density * cm for material, cm in stack)
        x0_cm = x0 * sum(cm for _, cm in stack) / surface
        return Medium(
            z=sum(w * material.z for material, w in weighted),
            x0=x0_cm,
            critical=critical,
            moliere=_SCALE_ENERGY * x0 / critical / (surface / (self.pitch / 10)),
            inverse_fs=sum(cm for _, cm in stack) / x0_cm,
            e_hat=1 / (1 + 0.007 * (self.passive.z - self.active.z)),
            resolution=_WIGMANS * math.sqrt(self.active_mm / (seen / (seen + lost))),
        )
