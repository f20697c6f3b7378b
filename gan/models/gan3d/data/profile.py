"""The mean shower of an electron or photon in a sampling calorimeter and its fluctuations.

E. Longo, I. Sestili, NIM 128 (1975) 283; G. Grindhammer, M. Rudowicz, S. Peters, NIM A290 (1990)
469; G. Grindhammer, S. Peters, hep-ex/0001020 (all formulas and constants here), as also in the
Geant4 Physics Reference Manual, "Gflash Shower Parameterizations". Depths t in radiation lengths,
radii in Moliere radii, energies in GeV.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import gammainc

from ganboard.gan.models.gan3d.data.geometry import Medium

Floats = npt.NDArray[np.float64]

# of T_max and alpha before their logarithm, and _MOST_SIGMA of their spread: below the fits' range
# of energies, as in Geant4
_LEAST = 0.1
_MOST_SIGMA = 0.5
_LEAST_ALPHA = 1.1  # a shower has its maximum inside the calorimeter, not at its face


@dataclass(frozen=True)
class Longitudinal:
    """Correlated log-normal distribution of the depth of the maximum T and of the shape alpha."""

    mean_ln_t: float
    mean_ln_alpha: float
    sigma_ln_t: float
    sigma_ln_alpha: float
    rho: float

    def draw(self, z1: float, z2: float) -> tuple[float, float]:
        """T and alpha of the shower with these two standard normal numbers."""
        c1, c2 = math.sqrt((1 + self.rho) / 2), math.sqrt((1 - self.rho) / 2)
        t = math.exp(self.mean_ln_t + self.sigma_ln_t * (c1 * z1 + c2 * z2))
        alpha = math.exp(self.mean_ln_alpha + self.sigma_ln_alpha * (c1 * z1 - c2 * z2))
        return t, max(alpha, _LEAST_ALPHA)


@dataclass(frozen=True, eq=False)
class Radial:
    """f(r) = p 2rC^2/(r^2+C^2)^2 + (1-p) 2rT^2/(r^2+T^2)^2 at several depths, arrays of one
    shape."""

    core: Floats  # C, Moliere radii
    tail: Floats  # T, Moliere radii
    weight: Floats  # p


def longitudinal(medium: Medium, energy: float) -> Longitudinal:
    """Distribution of (T, alpha) for an energy in GeV (hep-ex/0001020)."""
    ln_y = math.log(energy * 1000 / medium.critical)
    t_homogeneous = max(ln_y - 0.812, _LEAST)
    alpha_homogeneous = max(0.81 + (0.458 + 2.26 / medium.z) * ln_y, _LEAST)
    return Longitudinal(
        mean_ln_t=math.log(
            max(t_homogeneous - 0.55 * medium.inverse_fs - 0.69 * (1 - medium.e_hat), _LEAST)
        ),
        mean_ln_alpha=math.log(max(alpha_homogeneous - 0.476 * medium.inverse_fs, _LEAST)),
        sigma_ln_t=_sigma(-2.5 + 1.25 * ln_y),
        sigma_ln_alpha=_sigma(-0.82 + 0.79 * ln_y),
        rho=0.784 - 0.023 * ln_y,
    )


def containment(depth: Floats, t: float, alpha: float) -> Floats:
    """Share of the energy deposited down to each depth (X0): the integral of f(t) = (bt)^(alpha-1)
    b exp(-bt) / Gamma(alpha) with b = (alpha-1)/T (Longo, Sestili 1975)."""
    return np.asarray(gammainc(alpha, (alpha - 1) / t * depth))


def relative_depth(depth: Floats, t: float, alpha: float, mean_ln_alpha: float) -> Floats:
    """tau: depth (X0) in units of the centre of gravity T alpha/(alpha-1), scaled to the mean
    shower's (hep-ex/0001020)."""
    mean = math.exp(mean_ln_alpha)
    return depth / t * (alpha - 1) / alpha * mean / (mean - 1)


def radial(medium: Medium, energy: float, tau: Floats) -> Radial:
    """Radial profile at relative depths tau for an energy in GeV (hep-ex/0001020, A.1.3 and A.2.4).

    k4 of the tail is 0.3585 + 0.0421 ln E in the paper's transcriptions and in CMS's translation of
    the authors' Fortran code (SimGeneral/GFlash); Geant4's GVFlashHomoShowerTuning has 0.0412.
    """
    ln_e, z, thick, missing = math.log(energy), medium.z, medium.inverse_fs, 1 - medium.e_hat
    fading = np.exp(-tau)
    core = 0.0251 + 0.00319 * ln_e + (0.1162 - 0.000381 * z) * tau
    k4 = 0.3585 + 0.0421 * ln_e
    tail = (0.659 - 0.00309 * z) * (np.exp(-2.59 * (tau - 0.645)) + np.exp(k4 * (tau - 0.645)))
    q = (0.401 + 0.00187 * z - tau) / (1.313 - 0.0686 * ln_e)
    weight = (2.632 - 0.00094 * z) * np.exp(q - np.exp(q))
    return Radial(
        core=core - 0.0203 * missing + 0.0397 * thick * fading,
        tail=tail - 0.14 * missing - 0.495 * thick * fading,
        weight=np.clip(
            weight + missing * (0.348 - 0.642 * thick * np.exp(-((tau - 1) ** 2))), 0, 1
        ),
    )


def spots(medium: Medium, energy: float) -> float:
    """Mean number of energy spots of a shower with an energy in GeV: 10.3/c E^0.959
    (hep-ex/0001020)."""
    return float(10.3 / medium.resolution * energy**0.959)


def spot_profile(medium: Medium, t: float, alpha: float) -> tuple[float, float]:
    """T and alpha of the longitudinal profile of the number of spots (hep-ex/0001020)."""
    return t * (0.813 + 0.0019 * medium.z), max(alpha * (0.844 + 0.0026 * medium.z), _LEAST_ALPHA)


def _sigma(inverse: float) -> float:
    return min(1 / inverse, _MOST_SIGMA) if inverse > 0 else _MOST_SIGMA
