"""Distances between two sets of images, given as feature vectors. Pure NumPy, in float64 and in
bounded memory.

Nothing random is drawn, so equal features give equal bits on one machine.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ganboard.gan.rng import philox

Features = npt.NDArray[np.floating[Any]]  # [n, dimensions]
Reals = npt.NDArray[np.float64]
Singles = npt.NDArray[np.float32]

MANIFOLD_NEIGHBOURS = 3  # k of precision and recall: Kynkaanniemi et al. 2019, section 3
DENSITY_NEIGHBOURS = 5  # k of density and coverage: Naeem et al. 2020, section 3.3
_REAL, _GENERATED = 0, 1  # seeds of the subsets of `kernel_distance`
_CELLS = 1 << 22  # entries of a matrix of pairs that are held at a time (32 MB)


@dataclass(frozen=True, eq=False)
class Sample:
    """Features of one set of images, and all that follows from this set alone."""

    features: Reals  # [n, dimensions]
    mean: Reals  # [dimensions]
    covariance: Reals  # [dimensions, dimensions]
    kernel: float  # mean of the kernel over the pairs of different images
    distance: float  # mean Euclidean distance of the pairs of different images
    manifold: Reals  # [n] squared distance to the third nearest other image
    density: Reals  # [n] squared distance to the fifth nearest other image


def sample(features: Features) -> Sample:
    """Prepare `features` [n, dimensions] for `compare`; raises ValueError for fewer than six, whose
    neighbourhoods are not defined."""
    x = np.asarray(features, np.float64)
    n = len(x)
    if n <= DENSITY_NEIGHBOURS:
        raise ValueError(
            f"{n} images are too few to compare: the neighbourhoods need {DENSITY_NEIGHBOURS + 1}"
            " or more."
        )
    kernel = distance = 0.0
    nearest = np.empty((n, 2))
    ranks = [MANIFOLD_NEIGHBOURS - 1, DENSITY_NEIGHBOURS - 1]
    for rows, products, squares in _pairs(x, x):
        itself = np.arange(rows.stop - rows.start), np.arange(rows.start, rows.stop)
        values = _kernel(products, x.shape[1])
        values[itself] = squares[itself] = 0
        kernel += float(values.sum())
        distance += float(np.sqrt(squares, out=values).sum())
        squares[itself] = np.inf
        nearest[rows] = np.partition(squares, ranks, axis=1)[:, ranks]
    pairs = n * (n - 1)
    return Sample(
        x,
        x.mean(0),
        np.cov(x, rowvar=False),
        kernel / pairs,
        distance / pairs,
        nearest[:, 0],
        nearest[:, 1],
    )


def compare(real: Sample, generated: Sample) -> dict[str, float]:
    """Measures of two sets of any sizes with features of one length.

    All that `gan.settings.image_metrics` declares but class_distance and memorization.

    fid: `frechet_distance`. kid: the unbiased estimate of the squared maximum mean discrepancy
    (Gretton et al. 2012, Eq. 3) with the kernel (x.y / dimensions + 1)^3 (Binkowski et al. 2018,
    section 4); it can fall below 0. precision, recall: Kynkaanniemi et al. 2019, Eqs. 1 and 2, k =
    3. density, coverage: Naeem et al. 2020, Eqs. 3 and 4, k = 5. diversity: mean distance of the
    generated pairs / mean distance of the real pairs.
    """
    m, n = len(real.features), len(generated.features)
    kernel = 0.0
    inside_real = np.zeros(n, np.bool_)
    neighbourhoods = np.zeros(n, np.int64)
    inside_generated, covered = np.empty(m, np.bool_), np.empty(m, np.bool_)
    for rows, products, squares in _pairs(real.features, generated.features):
        kernel += float(_kernel(products, real.features.shape[1]).sum())
        inside_real |= (squares <= real.manifold[rows, np.newaxis]).any(0)
        inside_generated[rows] = (squares <= generated.manifold).any(1)
        near = squares <= real.density[rows, np.newaxis]
        neighbourhoods += near.sum(0)
        covered[rows] = near.any(1)
    return {
        "fid": frechet_distance(real.mean, real.covariance, generated.mean, generated.covariance),
        "kid": real.kernel + generated.kernel - 2 * kernel / (m * n),
        "precision": float(inside_real.mean()),
        "recall": float(inside_generated.mean()),
        "density": float(neighbourhoods.mean()) / DENSITY_NEIGHBOURS,
        "coverage": float(covered.mean()),
        "diversity": generated.distance / real.distance,
    }


def kernel_distance(
    real: Features, generated: Features, *, subsets: int = 100, size: int = 1000
) -> float:
    """KID as it is published: the mean over `subsets` of `size` features of each set, or all that
    there are, of the unbiased estimate that `compare` takes of all of them (Binkowski et al. 2018,
    section 4). Subsets are a function of their number.
    """
    x, y = np.asarray(real, np.float64), np.asarray(generated, np.float64)
    count = min(size, len(x), len(y))
    total = 0.0
    for subset in range(subsets):
        a = x[philox.order(_REAL, subset, len(x))[:count]]
        b = y[philox.order(_GENERATED, subset, len(y))[:count]]
        within = sum(_kernel(one @ one.T, x.shape[1]).sum() for one in (a, b))
        # the pairs of an image with itself do not count
        within -= sum(_kernel(np.square(one).sum(1), x.shape[1]).sum() for one in (a, b))
        between = _kernel(a @ b.T, x.shape[1]).mean()
        total += within / (count * (count - 1)) - 2 * between
    return float(total) / subsets


def frechet_distance(
    mean_a: Reals, covariance_a: Reals, mean_b: Reals, covariance_b: Reals
) -> float:
    """Squared Frechet distance of two Gaussians (Heusel et al. 2017, Eq. 6): means [d], covariances
    [d, d], symmetric, may be singular.

    The trace of (A B)^1/2 is that of (A^1/2 B A^1/2)^1/2, whose matrix is symmetric: real
    eigenvalues, and no iteration that may fail.
    """
    values, vectors = np.linalg.eigh(covariance_a)
    root = (vectors * np.sqrt(np.maximum(values, 0))) @ vectors.T
    common = np.sqrt(np.maximum(np.linalg.eigvalsh(root @ covariance_b @ root), 0)).sum()
    distance = (
        np.square(mean_a - mean_b).sum()
        + np.trace(covariance_a)
        + np.trace(covariance_b)
        - 2 * common
    )
    return max(float(distance), 0.0)  # rounding alone takes it below


def class_shares(classes: npt.NDArray[np.int64], count: int) -> Reals:
    """Share [count] of each class among `classes` [n]."""
    return np.bincount(classes, minlength=count) / len(classes)


def class_distance(a: Reals, b: Reals) -> float:
    """Total variation distance between two histograms of shares: 0 equal, 1 disjoint."""
    return float(np.abs(a - b).sum()) / 2


def nearest(
    features: Features, trained: Features, *, itself: npt.NDArray[np.integer[Any]] | None = None
) -> Singles:
    """Squared distance [n] of each of `features` [n, d] to the nearest of `trained` [m, d].

    `itself` [n] are rows of `trained` that do not count, one for each of `features`; numbers of m
    or more leave nothing out. In float32, which takes half the time.
    """
    a, b = np.asarray(features, np.float32), np.asarray(trained, np.float32)
    norms = np.square(b).sum(1)
    found = np.empty(len(a), np.float32)
    step = max(1, _CELLS // len(b))
    for start in range(0, len(a), step):
        part = a[start : start + step]
        squares = part @ b.T
        squares *= -2
        squares += norms
        if itself is not None:
            own = itself[start : start + step]
            rows = np.flatnonzero(own < len(b))
            squares[rows, own[rows]] = np.inf
        found[start : start + step] = squares.min(1) + np.square(part).sum(1)
    return np.maximum(found, 0)


def memorization(held_out: Singles, generated: Singles) -> float:
    """Probability that a generated image is nearer to the training set than a held-out real one.

    Given both kinds' distances to their nearest training image (`nearest`), this is the
    Mann-Whitney statistic U / (n m) of Meehan, Chaudhuri and Dasgupta 2020 ("A Non-Parametric Test
    to Detect Data-Copying in Generative Models", section 3), turned round and over the whole space
    instead of
    cells: 0.5 where generated images are as far from the training set as real ones, 1 where each is
    nearer than every real one, as copies are. Ties count half.
    """
    ordered = np.sort(held_out)
    nearer = len(ordered) - np.searchsorted(ordered, generated, "right")
    equal = len(ordered) - np.searchsorted(ordered, generated, "left") - nearer
    return float((nearer + equal / 2).mean()) / len(ordered)


def seconds_to_quality(
    training_seconds: Iterable[float],
    values: Iterable[float],
    threshold: float,
    *,
    falling: bool = True,
) -> float | None:
    """Training seconds until a measure was first seen at `threshold` or better, or None; `falling`:
    better is lower, as of FID, KID and class distance.

    The time of that evaluation itself: between two evaluations nothing is interpolated, so the
    answer is late by one interval at most and never early. NaN reaches nothing. Raises ValueError
    when the two differ in length.
    """
    reached = (
        float(seconds)
        for seconds, value in zip(training_seconds, values, strict=True)
        if (value <= threshold if falling else value >= threshold)
    )
    return min(reached, default=None)


def _pairs(a: Reals, b: Reals) -> Iterator[tuple[slice, Reals, Reals]]:
    """Rows of `a` with their inner products with, and squared distances to, all of `b`; the caller
    may write into both."""
    b_norms = np.square(b).sum(1)
    step = max(1, _CELLS // len(b))
    for start in range(0, len(a), step):
        part = a[start : start + step]
        products = part @ b.T
        squares = np.square(part).sum(1)[:, np.newaxis] + b_norms - 2 * products
        yield slice(start, start + len(part)), products, np.maximum(squares, 0, out=squares)


def _kernel(products: Reals, dimensions: int) -> Reals:
    base = products / dimensions + 1
    return base * base * base
