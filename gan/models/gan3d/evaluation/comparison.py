"""Two samples of showers beside each other: named numbers, and the curves to draw."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import stats

from ganboard.gan.data.dataset import DatasetError
from ganboard.gan.models.gan3d.observables import DECADES, HIT_THRESHOLDS, Array, Floats, Observed
from ganboard.gan.models.gan3d.validation import MOMENTS, RATIOS, VALIDATION
from ganboard.gan.settings.validation import Curve, Validation, short

_LEAST_EVENTS = 10  # in each sample, for means and spreads that say something
# events of either sample: a bin of energy with fewer has no spread worth the name and is left out
_FEW = 3
_LEAST_P = 1e-300


@dataclass(frozen=True, eq=False)
class Pair:
    """One observable of both samples, over the same abscissa."""

    x: Floats
    reference: Floats
    candidate: Floats


@dataclass(frozen=True, eq=False)
class Comparison:
    """`numbers` by name (objective.*, sampling_fraction.*, shape.*, moment.*, ...) and `curves` by
    name.

    `correlation`: the matrices [13, 13] of the reference and the candidate, rows and columns as
    VALIDATION.correlated.
    """

    numbers: dict[str, float]
    curves: dict[str, Pair]
    correlation: tuple[Floats, Floats]


def validation(found: Comparison, events: int) -> Validation:
    """What is kept of a comparison of `events` showers each: the curves of VALIDATION, and both
    correlation matrices."""
    curves = {
        name: Curve(x=short(pair.x), real=short(pair.reference), generated=short(pair.candidate))
        for name in VALIDATION.curves
        if (pair := found.curves[name])
    }
    real, generated = ([short(row) for row in matrix] for matrix in found.correlation)
    return Validation(events=events, curves=curves, real=real, generated=generated)


def compare(reference: Observed, candidate: Observed, *, bins: int = 10) -> Comparison:
    """How far a candidate is from the reference; both should be drawn over the same energies and
    angles.

    objective.total = objective.moment + objective.profile + objective.angle, the 3DGAN's single
    number, 0 for perfect: mean relative difference of the first two moments over the axes; mean
    relative difference of the mean profiles over cells and axes; mean of |measured angle - wanted
    angle| / wanted angle of the candidate's own events. `bins` of equal width in the energy of the
    particle. `.chi2` and `.kolmogorov` are -log10 p: 0 agrees, above 3 is less than one chance in a
    thousand. Those of the spectrum go by the spread from event to event and by the mean log10 of an
    event's cells. Raises DatasetError for different shapes, fewer than ten events in a sample, or
    empty ones in the reference.
    """
    for name, sample in (("reference", reference), ("candidate", candidate)):
        if len(sample) < _LEAST_EVENTS:
            raise DatasetError(
                f"The {name} has {len(sample)} events, fewer than the {_LEAST_EVENTS} a comparison"
                " needs: give it more."
            )
    if empty := np.count_nonzero(reference.total <= 0):
        raise DatasetError(
            f"The reference has {empty:,} empty events, which nothing can be compared with. Leave"
            " them out."
        )
    if reference.shape != candidate.shape:
        raise DatasetError(
            f"Events of {reference.shape} and of {candidate.shape} cells do not compare: crop one"
            " to the other."
        )
    numbers = {"events.empty": float(np.mean(candidate.total <= 0))}
    curves: dict[str, Pair] = {}
    _sampling_fraction(reference, candidate, bins, numbers, curves)
    _shapes(reference, candidate, numbers, curves)
    _spectra(reference, candidate, numbers, curves)
    matrices = correlations(reference), correlations(candidate)
    numbers["correlation.difference"] = float(np.abs(matrices[0] - matrices[1]).mean())
    moment = np.mean([numbers[f"moment.{name}"] for name in MOMENTS[:6]])
    shape = np.mean([numbers[f"shape.{axis}"] for axis in "xyz"])
    angle = np.mean(np.abs(candidate.angle - candidate.theta) / candidate.theta)
    numbers |= {
        "objective.moment": float(moment),
        "objective.profile": float(shape),
        "objective.angle": float(angle),
    }
    numbers["objective.total"] = float(moment + shape + angle)
    return Comparison(numbers, curves, matrices)


def correlations(sample: Observed) -> Floats:
    """[13, 13] between the observables VALIDATION.correlated; `lean` is |measured angle - pi/2|.
    What does not vary correlates with nothing."""
    lean = np.abs(sample.angle - np.pi / 2)
    columns = np.column_stack(
        [sample.moments[:, :6], sample.total, sample.energy, sample.hits[:, 1], sample.ratios, lean]
    )
    centred = columns - columns.mean(0)
    spread = np.sqrt((centred**2).mean(0))
    varies = spread > 1e-9 * np.abs(columns).max(0)
    scaled = np.divide(centred, spread, out=np.zeros_like(centred), where=varies)
    return np.asarray(scaled.T @ scaled / len(columns))


def _sampling_fraction(
    a: Observed, b: Observed, bins: int, numbers: dict[str, float], curves: dict[str, Pair]
) -> None:
    """The profile over the particle's energy; its mean relative error with the error of that,
    chi-square and Kolmogorov tests."""
    edges = np.linspace(
        min(a.energy.min(), b.energy.min()), max(a.energy.max(), b.energy.max()), bins + 1
    )
    rows = []
    for low, high in pairwise(edges):
        inside = [
            s.sampling_fraction[(s.energy >= low) & ((s.energy < high) | (high == edges[-1]))]
            for s in (a, b)
        ]
        if min(map(len, inside)) >= _FEW:
            rows.append([(low + high) / 2, *(f(s) for s in inside for f in (np.mean, stats.sem))])
    if not rows:
        raise DatasetError(
            f"No bin of energy holds {_FEW} events of both samples: draw both over the same"
            " energies, or use fewer bins."
        )
    x, mean_a, error_a, mean_b, error_b = np.array(rows).T
    relative = np.abs(mean_a - mean_b) / mean_a
    errors = mean_b / mean_a * np.hypot(error_a / mean_a, _ratio(error_b, mean_b))
    chi2 = float(_ratio((mean_a - mean_b) ** 2, error_a**2 + error_b**2).sum())
    numbers["sampling_fraction.error"] = float(relative.mean())
    numbers["sampling_fraction.uncertainty"] = float(np.sqrt((errors**2).sum()) / len(x))
    numbers["sampling_fraction.chi2_per_bin"] = chi2 / len(x)
    numbers["sampling_fraction.chi2"] = _minus_log(stats.chi2.sf(chi2, len(x)))
    numbers["sampling_fraction.kolmogorov"] = _kolmogorov(a.sampling_fraction, b.sampling_fraction)
    curves["sampling_fraction"] = Pair(x, mean_a, mean_b)
    curves["sampling_fraction.standard_error"] = Pair(x, error_a, error_b)


def _shapes(a: Observed, b: Observed, numbers: dict[str, float], curves: dict[str, Pair]) -> None:
    for axis, ours, theirs in zip("xyz", a.profiles, b.profiles, strict=True):
        pair = Pair(
            np.arange(ours.shape[1], dtype=np.float64),
            ours.mean(0, dtype=np.float64),
            theirs.mean(0, dtype=np.float64),
        )
        numbers[f"shape.{axis}"] = float(_relative(pair.reference, pair.candidate).mean())
        curves[f"shape.{axis}"] = pair
    means = a.moments.mean(0), b.moments.mean(0)
    # third moments vanish by symmetry: their scale is that of a skewness
    scale = np.concatenate([means[0][:6], means[0][3:6] ** 1.5])
    apart = _ratio(np.abs(means[0] - means[1]), scale)
    for i, name in enumerate(MOMENTS):
        numbers[f"moment.{name}"] = float(apart[i])
        numbers[f"moment.{name}.kolmogorov"] = _kolmogorov(a.moments[:, i], b.moments[:, i])
    for i, name in enumerate(RATIOS):
        numbers[f"ratio.{name}"] = float(_relative(a.ratios[:, i].mean(), b.ratios[:, i].mean()))
        numbers[f"ratio.{name}.kolmogorov"] = _kolmogorov(a.ratios[:, i], b.ratios[:, i])
    for i, (axis, size) in enumerate(zip("xyz", a.shape, strict=True)):
        counts = [np.bincount(s.peak[:, i], minlength=size) / len(s) for s in (a, b)]
        numbers[f"peak.{axis}"] = float(a.peak[:, i].mean() - b.peak[:, i].mean())
        curves[f"peak.{axis}"] = Pair(np.arange(size, dtype=np.float64), *counts)


def _spectra(a: Observed, b: Observed, numbers: dict[str, float], curves: dict[str, Pair]) -> None:
    events = [s.spectrum[:, 1:-1].astype(np.float64) for s in (a, b)]
    centres = (DECADES[:-1] + DECADES[1:]) / 2
    means, errors = ([f(e, axis=0) for e in events] for f in (np.mean, stats.sem))
    filled = means[0] + means[1] > 0
    # by the spread from event to event: the cells of one event are no independent entries of a
    # histogram
    numbers["spectrum.chi2_per_bin"] = float(
        _ratio((means[0] - means[1]) ** 2, errors[0] ** 2 + errors[1] ** 2)[filled].mean()
    )
    numbers["spectrum.kolmogorov"] = _kolmogorov(*(_ratio(e @ centres, e.sum(1)) for e in events))
    curves["spectrum"] = Pair(centres, *means)
    curves["sparsity"] = Pair(DECADES, a.sparsity, b.sparsity)
    numbers["sparsity.difference"] = float(np.abs(a.sparsity - b.sparsity).max())
    for i, limit in enumerate(HIT_THRESHOLDS):
        numbers[f"hits.{limit:g}"] = float(_relative(a.hits[:, i].mean(), b.hits[:, i].mean()))
        numbers[f"hits.{limit:g}.kolmogorov"] = _kolmogorov(a.hits[:, i], b.hits[:, i])
    numbers["angle.error"] = float(np.degrees(np.abs(b.angle - b.theta)).mean())
    numbers["angle.error.reference"] = float(np.degrees(np.abs(a.angle - a.theta)).mean())


def _relative(reference: Array, candidate: Array) -> Floats:
    """|difference| / |reference|; where the reference is empty 1 (100 %) when the candidate is not,
    else 0."""
    reference, candidate = np.asarray(reference, np.float64), np.asarray(candidate, np.float64)
    return np.where(
        reference == 0, candidate != 0, _ratio(np.abs(reference - candidate), np.abs(reference))
    )


def _ratio(part: Floats, whole: Floats) -> Floats:
    return np.divide(part, whole, out=np.zeros_like(whole), where=whole != 0)


def _kolmogorov(a: npt.NDArray[Any], b: npt.NDArray[Any]) -> float:
    return _minus_log(stats.ks_2samp(a, b, method="asymp").pvalue)


def _minus_log(p: float) -> float:
    return -math.log10(max(float(p), _LEAST_P)) + 0.0
