from __future__ import annotations

import math
from functools import cache

import numpy as np
import numpy.typing as npt
import pytest

from ganboard.gan.config import ConfigError
from ganboard.gan.models.gan3d.data import profile
from ganboard.gan.models.gan3d.data.geometry import Calorimeter
from ganboard.gan.models.gan3d.data.sampler import PER_GEV, Beam, Sampler
from ganboard.gan.models.gan3d.observables import measured_angle

MEDIUM = Calorimeter().medium
FRACTION = Calorimeter().sampling_fraction
STRAIGHT = 200  # events


@cache
def straight(energy: float) -> npt.NDArray[np.float32]:
    """Cells of showers straight into the face, in GeV of the particle that was lost there."""
    cells = np.stack(
        [shower.cells for shower in Sampler(Beam(energy, energy, 90, 90), seed=11).events(STRAIGHT)]
    )
    return cells / np.float32(PER_GEV * FRACTION)


@cache
def quadrature(energy: float) -> npt.NDArray[np.float64]:
    """Mean share of the energy above each face of the layers, over the log-normal T and alpha:
    Gauss-Hermite, no random numbers."""
    means = profile.longitudinal(MEDIUM, energy)
    nodes, weights = np.polynomial.hermite_e.hermegauss(15)
    weights /= weights.sum()
    faces = np.arange(26) * MEDIUM.inverse_fs
    return sum(
        w1 * w2 * profile.containment(faces, *means.draw(z1, z2))
        for z1, w1 in zip(nodes, weights, strict=True)
        for z2, w2 in zip(nodes, weights, strict=True)
    )


@pytest.mark.parametrize("energy", [100, 500])
def test_containment_is_the_incomplete_gamma_function(energy: float) -> None:
    contained = straight(energy).sum((1, 2, 3)).mean() / energy
    # three standard errors, and what leaves by the sides
    assert contained == pytest.approx(quadrature(energy)[-1], abs=0.012)
    assert contained < 0.96  # some of it does leak


def test_the_mean_profile_is_that_of_the_formula() -> None:
    energy = 100
    wanted = np.diff(quadrature(energy)) * energy
    found = straight(energy).sum((1, 2)).mean(0)
    np.testing.assert_allclose(found[2:], wanted[2:], rtol=0.08)
    assert abs(int(found.argmax()) - int(wanted.argmax())) <= 1
    assert 9 <= found.argmax() <= 14


@pytest.mark.parametrize("energy", [100, 200, 500])
def test_the_sampling_fraction_follows_the_published_response(energy: float) -> None:
    curve = np.polyval([0.0018, -0.023, 0.11, -0.28, 2.21], energy / 100) / 100
    fraction = straight(energy).sum((1, 2, 3)).mean() * FRACTION / energy
    assert fraction == pytest.approx(curve, rel=0.05)


def test_the_radial_profile_is_a_distribution_and_widens_with_depth() -> None:
    cells = straight(100)
    share = cells[:, 25, 25].sum() / cells.sum()
    block = cells[:, 24:27, 24:27].sum() / cells.sum()
    assert 0.40 < share < 0.48
    assert 0.74 < block < 0.82
    early, late = (cells[:, 25, 25, z].sum() / cells[..., z].sum() for z in (6, 20))
    assert early > 1.3 * late


def test_the_middle_25_cells_keep_nearly_all() -> None:
    cells = straight(100)
    assert cells[:, 13:38, 13:38].sum() / cells.sum() > 0.99


@pytest.mark.parametrize("energy", [2, 5, 100])
def test_every_layer_keeps_the_energy_that_was_drawn_for_it(energy: float) -> None:
    whole = Calorimeter(nx=1, ny=1, cell=1e9)  # nothing leaves by the sides
    sampler = Sampler(Beam(energy, energy, 90, 90), whole, seed=11)
    for number in range(50):
        np.testing.assert_allclose(
            sampler.event(number).cells[0, 0], sampler.layers(number), rtol=1e-5, atol=1e-30
        )


def test_low_energies_reach_the_cells_in_full() -> None:
    """Against the formula alone: 2,000 showers of 2 GeV have a standard error of 0.2 %."""
    whole = Calorimeter(nx=1, ny=1, cell=1e9)
    showers = Sampler(Beam(2, 2, 90, 90), whole, seed=11).events(2000)
    found = np.mean([shower.cells.sum() for shower in showers]) / PER_GEV / FRACTION
    assert found == pytest.approx(2 * quadrature(2)[-1], rel=0.008)


@pytest.mark.parametrize("degrees", [60, 75, 90, 105, 120])
def test_the_measured_angle_is_the_angle_of_the_particle(degrees: float) -> None:
    cells = np.stack(
        [s.cells for s in Sampler(Beam(100, 200, degrees, degrees), seed=5).events(80)]
    )
    measured = np.degrees(measured_angle(cells))
    assert measured.mean() == pytest.approx(degrees, abs=1)
    assert 0.4 < measured.std() < 2


def test_depth_and_shape_are_correlated_as_asked() -> None:
    means = profile.longitudinal(MEDIUM, 100)
    normal = np.random.default_rng(0).standard_normal((20_000, 2))
    drawn = np.log([means.draw(*pair) for pair in normal.tolist()])
    assert np.corrcoef(drawn.T)[0, 1] == pytest.approx(means.rho, abs=0.015)
    assert drawn.mean(0) == pytest.approx([means.mean_ln_t, means.mean_ln_alpha], abs=0.004)
    assert drawn.std(0) == pytest.approx([means.sigma_ln_t, means.sigma_ln_alpha], rel=0.03)
    assert means.rho == pytest.approx(0.568, abs=0.001)


def test_energies_and_angles_are_uniform_within_the_beam() -> None:
    showers = list(Sampler(Beam(2, 3), seed=1).events(200))
    energies, angles = np.array([(s.energy, math.degrees(s.theta)) for s in showers]).T
    assert 2 <= energies.min() < 2.1 < 2.9 < energies.max() <= 3
    assert 60 <= angles.min() < 63 < 117 < angles.max() <= 120


def test_an_event_follows_from_seed_and_number_alone() -> None:
    seven = Sampler(seed=3).event(7)
    (again,) = Sampler(seed=3).events(1, first=7)
    *_, in_a_row = Sampler(seed=3).events(8)
    for other in (again, in_a_row):
        assert (other.energy, other.theta) == (seven.energy, seven.theta)
        np.testing.assert_array_equal(other.cells, seven.cells)
    assert not np.array_equal(Sampler(seed=4).event(7).cells, seven.cells)
    assert not np.array_equal(Sampler(seed=3).event(8).cells, seven.cells)
    assert (seven.cells.shape, seven.cells.dtype) == ((51, 51, 25), np.float32)
    assert seven.cells.min() == 0


@pytest.mark.parametrize(("low", "high"), [(2, 2), (500, 500)])
def test_the_ends_of_the_range_give_showers(low: float, high: float) -> None:
    shower = Sampler(Beam(low, high, 30, 30)).event(0)
    assert 0.5 < shower.cells.sum() / PER_GEV / FRACTION / low < 1.3


@pytest.mark.parametrize(
    "values",
    [
        (1.9, 100),
        (100, 501),
        (200, 100),
        (math.nan, 100),
        (100, math.inf),
        (100, 200, 29, 90),
        (100, 200, 90, 151),
        (100, 200, 120, 60),
    ],
)
def test_a_beam_outside_the_fits_is_refused(values: tuple[float, ...]) -> None:
    with pytest.raises(
        ConfigError,
        match=r"^(energy|theta) from .*: choose a range within (2 to 500 GeV|30 to 150 degrees)",
    ):
        Beam(*values)


@pytest.mark.parametrize("seed", [-1, 2**64])
def test_a_seed_outside_64_bits_is_refused(seed: int) -> None:
    with pytest.raises(ConfigError, match="seed="):
        Sampler(seed=seed)


def test_the_parameterisation_has_the_published_numbers() -> None:
    """Worked out apart from the code, from the constants of hep-ex/0001020, for 100 GeV in this
    calorimeter."""
    radial = profile.radial(MEDIUM, 100, np.array([0.2, 1.0, 2.0]))
    assert radial.core == pytest.approx([0.07394, 0.13244, 0.21463], abs=2e-5)
    assert radial.tail == pytest.approx([1.39581, 0.53535, 0.84459], abs=2e-5)
    assert radial.weight == pytest.approx([0.91851, 0.83119, 0.52394], abs=2e-5)
    means = profile.longitudinal(MEDIUM, 100)
    assert (means.mean_ln_t, means.mean_ln_alpha) == pytest.approx((2.08072, 1.62578), abs=1e-5)
    assert profile.spots(MEDIUM, 100) == pytest.approx(8386, abs=1)
    assert profile.spot_profile(MEDIUM, 1, 10) == pytest.approx((0.9508, 10.3257), abs=1e-4)
