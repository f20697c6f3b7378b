from __future__ import annotations

import math

import pytest

from ganboard.gan.config import ConfigError
from ganboard.gan.models.gan3d.data.geometry import SILICON, TUNGSTEN, Calorimeter


def test_the_effective_medium_is_that_of_the_formulas() -> None:
    medium = Calorimeter().medium
    assert medium.z == pytest.approx(72.53, abs=0.01)
    assert medium.x0 == pytest.approx(0.420, abs=5e-4)
    assert medium.critical == pytest.approx(8.22, abs=5e-3)
    assert medium.moliere == pytest.approx(1.90, abs=5e-3)
    assert medium.inverse_fs == pytest.approx(0.691, abs=5e-4)
    assert medium.e_hat == pytest.approx(0.704, abs=5e-4)
    assert 25 * medium.inverse_fs == pytest.approx(17.3, abs=0.05)


def test_critical_energies_are_near_the_measured_ones() -> None:
    assert TUNGSTEN.critical == pytest.approx(7.97, rel=0.03)  # Particle Data Group
    assert SILICON.critical == pytest.approx(40.19, rel=0.12)


def test_the_resolution_follows_from_the_sampling_of_minimum_ionising_particles() -> None:
    seen, lost = 0.05 * 2.329 * 1.664, 0.24 * 19.30 * 1.145
    assert Calorimeter().medium.resolution == pytest.approx(
        0.027 * math.sqrt(0.5 / (seen / (seen + lost)))
    )
    # f grows with d
    assert Calorimeter(active_mm=1).medium.resolution == pytest.approx(
        Calorimeter().medium.resolution, rel=0.02
    )
    assert Calorimeter(passive_mm=4.8).medium.resolution > 1.3 * Calorimeter().medium.resolution


def test_gaps_widen_showers_and_change_nothing_else() -> None:
    with_gap, without = Calorimeter().medium, Calorimeter(gap_mm=0).medium
    assert without.moliere == pytest.approx(with_gap.moliere * 2.9 / 5.1)
    assert (without.x0, without.critical, without.resolution) == (
        with_gap.x0,
        with_gap.critical,
        with_gap.resolution,
    )


def test_a_cell_is_as_long_as_a_layer_so_that_angles_are_kept() -> None:
    assert Calorimeter().pitch == pytest.approx(Calorimeter().cell)
    assert Calorimeter().shape == (51, 51, 25)


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("nx", 0, "1 or more"),
        ("nz", 2, "3 or more"),
        ("cell", 0, "above 0"),
        ("active_mm", math.nan, "above 0"),
        ("gap_mm", -1, "0 or more"),
    ],
)
def test_an_impossible_calorimeter_is_refused(name: str, value: float, words: str) -> None:
    with pytest.raises(ConfigError, match=rf"calorimeter: {name}=.*{words}"):
        Calorimeter(**{name: value})  # type: ignore[arg-type]
