from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache

import numpy as np
import numpy.typing as npt
import pytest

from ganboard.gan.data.dataset import DatasetError
from ganboard.gan.models.gan3d.data.sampler import PER_GEV, Sampler, Shower
from ganboard.gan.models.gan3d.evaluation.comparison import Comparison, compare, correlations
from ganboard.gan.models.gan3d.observables import (
    DECADES,
    NO_ANGLE,
    Observed,
    cell_bins,
    measured_angle,
)
from ganboard.gan.models.gan3d.validation import MOMENTS, VALIDATION

Cells = npt.NDArray[np.float32]
EVENTS = 200


def draw(seed: int, change: Callable[[Cells], Cells] = lambda cells: cells) -> Observed:
    parts = []
    for first in range(0, EVENTS, 50):
        batch = showers(seed)[first : first + 50]
        cells = change(np.stack([s.cells for s in batch]) / np.float32(PER_GEV))
        parts.append(
            Observed.of(
                cells, np.array([s.energy for s in batch]), np.array([s.theta for s in batch])
            )
        )
    return Observed.join(parts)


@cache
def showers(seed: int) -> list[Shower]:
    return list(Sampler(seed=seed).events(EVENTS))


@pytest.fixture(scope="module")
def reference() -> Observed:
    return draw(1)


@pytest.fixture(scope="module")
def same(reference: Observed) -> Comparison:
    return compare(reference, draw(2))


def deeper(cells: Cells) -> Cells:
    moved = np.zeros_like(cells)
    moved[..., 2:] = cells[..., :-2]
    return moved


def track(slope: float, nz: int = 9) -> Cells:
    """A line of unit cells through the middle, with a slope in cells per layer that hits their
    centres."""
    cells = np.zeros((1, 21, 21, nz), np.float32)
    for z in range(nz):
        cells[0, 10, 10 + round(slope * (z - nz // 2)), z] = 1
    return cells


@pytest.mark.parametrize("slope", [-2, -1, 0, 1, 2])
def test_the_angle_of_a_line_is_exact(slope: float) -> None:
    cells = track(slope)
    # the layer of the barycentre has no slope: it counts as 90 degrees, by its weight
    z = np.arange(9) + 0.5
    wanted = (
        np.delete(z, 4).sum() * (math.pi / 2 - math.atan(slope)) + z[4] * math.pi / 2
    ) / z.sum()
    assert measured_angle(cells) == pytest.approx([wanted], abs=1e-9)
    assert measured_angle(cells * 7) == pytest.approx([wanted], abs=1e-9)  # of any unit


def test_empty_events_have_no_angle_and_empty_layers_no_weight() -> None:
    cells = np.concatenate([np.zeros_like(track(0)), track(1)])
    cells[1, ..., 0] = 0
    angles = measured_angle(cells)
    assert angles[0] == NO_ANGLE
    assert math.pi / 4 < angles[1] < 1.0


def test_cells_are_counted_in_eight_bins() -> None:
    cells = np.zeros((2, 2, 2, 3), np.float32)
    cells[0].flat[:9] = [0.06, 0.04, 0.025, 0.015, 0.01, 0.005, 0.001, 1, 0.05]
    assert cell_bins(cells).tolist() == [[2, 2, 1, 1, 1, 1, 1, 3], [0, 0, 0, 0, 0, 0, 0, 12]]
    away_from_limits = np.where(cells == np.float32(0.05), 0.049, cells).astype(np.float32)
    assert cell_bins(away_from_limits**0.85, 0.85).tolist() == cell_bins(cells).tolist()


def test_the_observables_of_one_event_are_what_a_person_computes() -> None:
    cells = np.zeros((1, 5, 5, 7), np.float32)
    cells[0, 1, 2, 0], cells[0, 3, 2, 6] = 0.001, 0.003
    seen = Observed.of(cells, np.array([0.4]), np.array([1.5]))
    assert seen.total == pytest.approx([0.004])
    assert seen.sampling_fraction == pytest.approx([0.01])
    centre = dict(zip(MOMENTS, seen.moments[0], strict=True))
    assert (centre["Mx1"], centre["My1"], centre["Mz1"]) == pytest.approx((2.5, 2, 4.5))
    assert (centre["Mx2"], centre["My2"]) == pytest.approx((0.25 * 1.5**2 + 0.75 * 0.5**2, 0))
    assert centre["Mx3"] == pytest.approx(-0.25 * 1.5**3 + 0.75 * 0.5**3)
    assert seen.ratios[0] == pytest.approx([0.25, 0, 0.75])
    assert seen.hits.tolist() == [[2, 2]]
    even = Observed.of(np.ones((1, 2, 2, 25), np.float32), np.ones(1), np.ones(1))
    assert even.ratios[0] == pytest.approx([8 / 25, 8 / 25, 9 / 25])
    assert seen.peak.tolist() == [[3, 2, 6]]
    assert seen.along_z[0] == pytest.approx([0.001, 0, 0, 0, 0, 0, 0.003])
    assert seen.spectrum.sum() == 2
    assert seen.sparsity[: np.searchsorted(DECADES, math.log10(0.0009))] == pytest.approx(2 / 175)
    assert seen.sparsity[-1] == 0


def test_two_samples_of_one_source_agree(same: Comparison) -> None:
    numbers = same.numbers
    assert numbers["objective.moment"] < 0.01
    assert numbers["objective.profile"] < 0.08
    assert numbers["objective.angle"] < 0.015
    assert numbers["objective.total"] == pytest.approx(
        sum(numbers[f"objective.{part}"] for part in ("moment", "profile", "angle"))
    )
    assert numbers["sampling_fraction.error"] < 0.015
    assert numbers["spectrum.chi2_per_bin"] < 2.5
    unlikely = {
        name: value
        for name, value in numbers.items()
        if name.endswith((".chi2", ".kolmogorov")) and value > 4
    }
    assert not unlikely
    assert numbers["events.empty"] == 0


@pytest.mark.parametrize(
    ("change", "worse", "untouched"),
    [
        (
            lambda cells: cells * np.float32(1.2),
            "objective.profile",
            ("objective.moment", "objective.angle"),
        ),
        (deeper, "objective.moment", ()),
        (
            lambda cells: cells[:, :, ::-1].copy(),
            "objective.angle",
            ("objective.moment", "objective.profile"),
        ),
    ],
    ids=["a fifth too much energy", "two layers too deep", "mirrored"],
)
def test_a_wrong_sample_shows_in_the_right_part(
    reference: Observed,
    same: Comparison,
    change: Callable[[Cells], Cells],
    worse: str,
    untouched: tuple[str, ...],
) -> None:
    numbers = compare(reference, draw(2, change)).numbers
    assert numbers[worse] > 3 * same.numbers[worse]
    assert numbers["objective.total"] > 3 * same.numbers["objective.total"]
    for name in untouched:
        assert numbers[name] == pytest.approx(same.numbers[name], abs=0.02)


def test_energy_that_is_too_much_is_seen_in_the_sampling_fraction(reference: Observed) -> None:
    numbers = compare(reference, draw(2, lambda cells: cells * np.float32(1.2))).numbers
    assert numbers["sampling_fraction.error"] == pytest.approx(0.2, abs=0.02)
    assert numbers["sampling_fraction.uncertainty"] < 0.01
    assert numbers["sampling_fraction.chi2"] > 20
    assert numbers["sampling_fraction.kolmogorov"] > 20
    assert numbers["spectrum.chi2_per_bin"] > 20
    assert numbers["spectrum.kolmogorov"] > 20


def test_curves_and_correlations_are_there_to_be_drawn(
    reference: Observed, same: Comparison
) -> None:
    assert {
        "sampling_fraction",
        "shape.x",
        "shape.y",
        "shape.z",
        "spectrum",
        "sparsity",
        "peak.z",
    } <= set(same.curves)
    for pair in same.curves.values():
        assert len(pair.x) == len(pair.reference) == len(pair.candidate)
    matrix = same.correlation[0]
    assert matrix.shape == (len(VALIDATION.correlated), len(VALIDATION.correlated))
    assert np.diag(matrix) == pytest.approx(1)
    assert matrix[VALIDATION.correlated.index("Esum"), VALIDATION.correlated.index("Ep")] > 0.9
    # a slanted shower is wider in y
    assert matrix[VALIDATION.correlated.index("My2"), VALIDATION.correlated.index("lean")] > 0.5
    assert np.abs(correlations(reference.near(energy=150, width=50)) - matrix).max() < 1e-9


def test_one_bin_of_energy_and_angle_can_be_looked_at(reference: Observed) -> None:
    some = reference.near(energy=150, theta=math.pi / 2, width=20, aperture=0.3)
    assert 0 < len(some) < len(reference)
    assert np.abs(some.energy - 150).max() <= 20
    assert np.abs(some.theta - math.pi / 2).max() <= 0.3
    assert len(some.along_x) == len(some.spectrum) == len(some)


def test_a_candidate_of_empty_events_is_far_off_and_no_error(reference: Observed) -> None:
    empty = Observed.of(
        np.zeros((20, 51, 51, 25), np.float32), np.linspace(100, 200, 20), np.full(20, 1.5)
    )
    numbers = compare(reference, empty, bins=3).numbers
    assert numbers["events.empty"] == 1
    assert numbers["objective.profile"] == pytest.approx(1)
    assert numbers["objective.angle"] > 10
    assert all(map(math.isfinite, numbers.values()))
    with pytest.raises(DatasetError, match="reference has 20 empty events"):
        compare(empty, reference)


def test_what_does_not_compare_is_refused(reference: Observed) -> None:
    few = reference.near(energy=150, width=0.5)
    with pytest.raises(DatasetError, match=r"candidate has \d events, fewer than the 10"):
        compare(reference, few)
    small = Observed.of(np.ones((12, 3, 3, 3), np.float32), np.full(12, 100), np.full(12, 1.5))
    with pytest.raises(DatasetError, match="do not compare: crop"):
        compare(reference, small)
    low = reference.near(energy=110, width=10)
    high = reference.near(energy=190, width=10)
    with pytest.raises(DatasetError, match="No bin of energy"):
        compare(low, high, bins=4)


@pytest.mark.parametrize("value", [math.nan, math.inf, -1])
def test_cells_that_are_no_energies_are_refused(value: float) -> None:
    with pytest.raises(DatasetError, match="negative, infinite or NaN"):
        Observed.of(np.full((1, 3, 3, 3), value, np.float32), np.ones(1), np.ones(1))
