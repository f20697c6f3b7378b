from __future__ import annotations

import math
import subprocess
import sys
from itertools import combinations

import numpy as np
import pytest
from scipy.linalg import sqrtm

from ganboard.gan.quality import metrics
from ganboard.gan.quality.metrics import (
    class_distance,
    class_shares,
    compare,
    frechet_distance,
    kernel_distance,
    memorization,
    nearest,
    sample,
    seconds_to_quality,
)

RNG = np.random.default_rng(5)


def normal(count: int, dimensions: int = 8, shift: float = 0.0) -> np.ndarray:
    return (RNG.standard_normal((count, dimensions)) + shift).astype(np.float32)


# --- the Frechet distance ---


@pytest.mark.parametrize("rank", [2, 5, 12])
def test_frechet_distance_is_the_formula_with_scipys_matrix_root(rank: int) -> None:
    # rank 2: both are singular
    a, b = (np.cov(RNG.standard_normal((rank + 1, 5)), rowvar=False) for _ in range(2))
    mean_a, mean_b = RNG.standard_normal((2, 5))
    wanted = np.square(mean_a - mean_b).sum() + np.trace(a + b - 2 * sqrtm(a @ b).real)
    assert frechet_distance(mean_a, a, mean_b, b) == pytest.approx(wanted, rel=1e-6)
    assert frechet_distance(mean_b, b, mean_a, a) == pytest.approx(wanted, rel=1e-6)


def test_gaussians_of_known_distance() -> None:
    mean = np.zeros(3)
    assert frechet_distance(mean, np.eye(3), mean + 2, np.eye(3)) == pytest.approx(12)
    assert frechet_distance(mean, np.eye(3), mean, 9 * np.eye(3)) == pytest.approx(3 * (3 - 1) ** 2)
    assert 0 <= frechet_distance(mean, np.eye(3), mean, np.eye(3)) < 1e-12


# --- against the definitions, written out ---


def by_definition(real: np.ndarray, generated: np.ndarray) -> dict[str, float]:
    def kernel(x: np.ndarray, y: np.ndarray) -> float:
        return float((x @ y / len(x) + 1) ** 3)

    def mean_of_pairs(function, points) -> float:  # type: ignore[no-untyped-def]
        return float(np.mean([function(a, b) for a, b in combinations(points, 2)]))

    def radius(points: np.ndarray, i: int, k: int) -> float:
        return sorted(math.dist(points[i], p) for j, p in enumerate(points) if j != i)[k - 1]

    def inside(point: np.ndarray, points: np.ndarray, k: int) -> list[bool]:
        return [math.dist(point, p) <= radius(points, i, k) for i, p in enumerate(points)]

    mixed = np.mean([kernel(x, y) for x in real for y in generated])
    return {
        "kid": mean_of_pairs(kernel, real) + mean_of_pairs(kernel, generated) - 2 * float(mixed),
        "precision": float(np.mean([any(inside(y, real, 3)) for y in generated])),
        "recall": float(np.mean([any(inside(x, generated, 3)) for x in real])),
        "density": sum(sum(inside(y, real, 5)) for y in generated) / (5 * len(generated)),
        "coverage": float(np.mean(np.any([inside(y, real, 5) for y in generated], axis=0))),
        "diversity": mean_of_pairs(math.dist, generated) / mean_of_pairs(math.dist, real),
    }


@pytest.mark.parametrize("cells", [1, 30, 1 << 22])
@pytest.mark.parametrize("shift", [0.0, 0.7, 1.5])
def test_measures_are_their_definitions(
    shift: float, cells: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(metrics, "_CELLS", cells)
    rng = np.random.default_rng(1)
    real, generated = rng.standard_normal((17, 3)), rng.standard_normal((13, 3)) * 0.8 + shift
    found = compare(sample(real), sample(generated))
    wanted = by_definition(real, generated)
    assert {name: found[name] for name in wanted} == pytest.approx(wanted, rel=1e-9)
    covariances = np.cov(real, rowvar=False), np.cov(generated, rowvar=False)
    assert found["fid"] == pytest.approx(
        frechet_distance(real.mean(0), covariances[0], generated.mean(0), covariances[1])
    )
    assert set(found) == {*wanted, "fid"}


# --- what the measures are for ---


def test_kernel_distance_of_equal_distributions_is_zero_on_average() -> None:
    found = [compare(sample(normal(60)), sample(normal(80)))["kid"] for _ in range(200)]
    error = np.std(found) / math.sqrt(len(found))
    # unbiased: Binkowski et al. 2018, section 3; the biased form is off by many errors
    assert abs(np.mean(found)) < 4 * error
    assert min(found) < 0 < max(found)
    assert (
        np.mean(
            [compare(sample(normal(60)), sample(normal(80, shift=0.3)))["kid"] for _ in range(50)]
        )
        > 20 * error
    )


def test_equal_distributions_look_equal() -> None:
    found = compare(sample(normal(1500)), sample(normal(1500)))
    assert found["fid"] < 0.1
    assert min(found["precision"], found["recall"], found["coverage"]) > 0.8
    # its expectation is 1: Naeem et al. 2020, section 3.3
    assert found["density"] == pytest.approx(1, abs=0.15)
    assert found["diversity"] == pytest.approx(1, abs=0.02)


def test_distant_distributions_share_nothing() -> None:
    found = compare(sample(normal(300)), sample(normal(300, shift=20)))
    assert [found[name] for name in ("precision", "recall", "density", "coverage")] == [0, 0, 0, 0]
    assert found["fid"] == pytest.approx(8 * 20**2, rel=0.05)


def test_a_repeated_image_is_precise_and_nothing_else() -> None:
    real = normal(300)
    found = compare(sample(real), sample(np.repeat(real[:1], 300, axis=0)))
    assert found["precision"] == 1
    assert found["recall"] <= 1 / 300  # the image itself
    assert found["coverage"] < 0.1
    assert found["diversity"] == pytest.approx(0, abs=1e-6)


def test_equal_features_give_equal_bits() -> None:
    real, generated = normal(400, 64), normal(300, 64)
    first, again = (compare(sample(real.copy()), sample(generated.copy())) for _ in range(2))
    assert {name: value.hex() for name, value in first.items()} == {
        name: value.hex() for name, value in again.items()
    }


def test_too_few_images_are_refused() -> None:
    with pytest.raises(ValueError, match=r"5 images are too few .* need 6 or more"):
        sample(normal(5))
    assert math.isfinite(compare(sample(normal(6)), sample(normal(6)))["fid"])


# --- classes ---


def test_class_shares_and_their_distance() -> None:
    shares = class_shares(np.array([0, 0, 2, 2]), 4)
    assert shares.tolist() == [0.5, 0, 0.5, 0]
    assert class_distance(shares, shares) == 0
    assert class_distance(shares, np.array([0, 0.5, 0, 0.5])) == 1
    assert class_distance(shares, np.full(4, 0.25)) == 0.5


# --- seconds to quality ---


def test_the_first_evaluation_at_the_threshold_counts_and_nothing_is_interpolated() -> None:
    seconds, fid = [10.0, 20.0, 30.0, 40.0], [9.0, 5.0, 2.0, 6.0]
    assert seconds_to_quality(seconds, fid, 5.0) == 20
    assert seconds_to_quality(seconds, fid, 4.9) == 30
    assert seconds_to_quality(seconds, fid, 1.0) is None
    assert seconds_to_quality(np.array(seconds), np.array(fid), 9.5) == 10


def test_rising_measures_are_reached_from_below() -> None:
    assert seconds_to_quality([10, 20, 30], [0.1, 0.6, 0.5], 0.5, falling=False) == 20


def test_no_evaluation_and_not_a_number_reach_nothing() -> None:
    assert seconds_to_quality([], [], 5.0) is None
    assert seconds_to_quality([1.0, 2.0], [math.nan, 3.0], 5.0) == 2
    assert seconds_to_quality([1.0], [3.0], math.nan) is None
    with pytest.raises(ValueError):
        seconds_to_quality([1.0, 2.0], [3.0], 5.0)


def test_metrics_and_cache_are_free_of_tensorflow() -> None:
    code = (
        "import sys, ganboard.gan.quality.cache, ganboard.gan.quality.metrics; print({'tensorflow',"
        " 'keras', 'scipy'} & set(sys.modules))"
    )
    assert (
        subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True
        ).stdout
        == "set()\n"
    )


def test_the_nearest_training_image_is_found_leaving_out_itself() -> None:
    rng = np.random.default_rng(0)
    features, trained = rng.normal(size=(40, 8)), rng.normal(size=(70, 8))
    pairs = np.square(features[:, np.newaxis] - trained).sum(2)
    np.testing.assert_allclose(nearest(features, trained), pairs.min(1), rtol=1e-4)
    whole = np.square(trained[:, np.newaxis] - trained).sum(2)
    np.fill_diagonal(whole, np.inf)
    found = nearest(trained, trained, itself=np.arange(70))
    np.testing.assert_allclose(found, whole.min(1), rtol=1e-4)
    assert (
        nearest(features, trained, itself=np.full(40, 70)).tolist()
        == nearest(features, trained).tolist()
    )


def test_memorization_counts_who_is_nearer() -> None:
    held_out, other = np.float32([1, 2, 3, 4]), np.float32([2.5])
    assert memorization(held_out, other) == 0.5
    assert memorization(held_out, np.float32([0, 0])) == 1
    assert memorization(held_out, np.float32([9])) == 0
    assert memorization(held_out, np.float32([1])) == 0.875  # nearer than three, as near as one
    assert memorization(held_out, held_out) == 0.5


def test_kernel_distance_over_subsets_is_the_mean_of_their_unbiased_estimates() -> None:
    rng = np.random.default_rng(3)
    real, generated = rng.standard_normal((90, 8)), rng.standard_normal((70, 8)) + 0.8
    whole = compare(sample(real), sample(real[::-1]))["kid"]
    assert kernel_distance(real, real[::-1], subsets=3, size=200) == pytest.approx(whole)
    # the estimate of all images has the same expectation
    found = kernel_distance(real, generated, subsets=400, size=50)
    assert found == pytest.approx(compare(sample(real), sample(generated))["kid"], rel=0.1)
    assert found == kernel_distance(real.copy(), generated.copy(), subsets=400, size=50)
