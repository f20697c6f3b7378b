"""Paired comparisons that may stop after any pair: intervals that hold at all of them at once, and
the number of pairs that a verdict needs.

After each pair from the third one on, the interval of the mean effect is mean ± c_n s / √n. The
limits c_n spend the error α = 1 - confidence little by little (Lan and DeMets, Biometrika 70, 1983)
by the function that they derive from O'Brien and Fleming's test, so that all intervals together
miss the mean with probability α: repeated confidence intervals (Jennison and Turnbull, J. R.
Statist. Soc. B 51, 1989). The number of planned pairs must not change meanwhile.

Their tables are for a known variance. Here it is estimated from few pairs; the t statistics of one
sequence of normal values after 3, 4, ... pairs depend on neither its mean nor its variance, so
their limits are computed by simulation.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from dataclasses import dataclass
from functools import lru_cache
from statistics import NormalDist

import numpy as np
import numpy.typing as npt

from ganboard.worker.claims.limits import FIRST_LOOK, MAX_PAIRS

PATHS = 200_000  # of the simulation
FEWEST = 20  # simulated paths beyond a limit, or it is left open and the error spent later
SEED = 20_231_125
# of pairs, that are tried in planning: each costs a simulation
NUMBERS = (3, 4, 5, 6, 7, 8, 9, 10, 12, 14, 16, 18, 20, 24, 28, 33, 40, 48, 58, 70, 84, MAX_PAIRS)
assert NUMBERS[0] == FIRST_LOOK


@dataclass(frozen=True)
class Interval:
    """The mean effect after `pairs` pairs and its interval; infinite before a limit can be set."""

    pairs: int
    mean: float
    low: float
    high: float
    deviation: float  # standard deviation of the effect of one pair


def spent(share: float, alpha: float) -> float:
    """The error that may be spent after this share of the planned pairs, two-sided:
    2 - 2 Φ(z / √share) with z = Φ⁻¹(1 - α/2); Lan and DeMets (1983), α₁*."""
    z = NormalDist().inv_cdf(1 - alpha / 2)
    return math.erfc(z / math.sqrt(2 * share))  # 2 Φ(-x) = erfc(x / √2)


@lru_cache(maxsize=256)
def limits(pairs: int, alpha: float) -> tuple[float, ...]:
    """The limits c_n of |t| after FIRST_LOOK, ..., `pairs` pairs, for an error of `alpha`."""
    random = np.random.default_rng(SEED)
    total = np.zeros(PATHS)
    squares = np.zeros(PATHS)
    inside = np.ones(PATHS, dtype=bool)
    found = []
    for count in range(1, pairs + 1):
        values = random.standard_normal(PATHS)
        total += values
        squares += values**2
        if count < FIRST_LOOK:
            continue
        spread = np.sqrt(np.maximum(squares - total**2 / count, 1e-300) / (count - 1))
        statistic = np.abs(total) / (spread * math.sqrt(count))
        may_leave = round(spent(count / pairs, alpha) * PATHS) - int(PATHS - inside.sum())
        if may_leave < FEWEST:
            found.append(math.inf)
            continue
        held = statistic[inside]
        limit = float(np.partition(held, len(held) - may_leave)[len(held) - may_leave])
        inside &= statistic < limit
        found.append(limit)
    return tuple(found)


def intervals(effects: npt.NDArray[np.float64], *, planned: int, alpha: float) -> list[Interval]:
    """The interval after each pair from FIRST_LOOK on; `effects` [pairs] in the order in which they
    were measured, at most `planned`."""
    critical = limits(planned, alpha)
    found = []
    for count in range(FIRST_LOOK, len(effects) + 1):
        known = effects[:count]
        mean, deviation = float(known.mean()), float(known.std(ddof=1))
        half = critical[count - FIRST_LOOK] * deviation / math.sqrt(count)
        if math.isnan(half):  # no spread at all, before a limit can be set
            half = math.inf
        found.append(Interval(count, mean, mean - half, mean + half, deviation))
    return found


def power(
    pairs: int, *, mean: float, deviation: float, low: float, high: float, alpha: float
) -> float:
    """The probability that `pairs` planned pairs decide whether a mean effect lies in `low` to
    `high`, at least, if it is `mean` and that of a pair varies by `deviation`.

    Within the range both limits must be excluded (two one-sided tests: Schuirmann, J.
    Pharmacokinet. Biopharm. 15, 1987), outside it the nearer one. The last interval excludes a
    limit at the distance d with probability 1 - F(c; n - 1, d √n / s), F the noncentral t
    distribution (Julious, Sample Sizes for Clinical Trials, 2010); earlier ones add to that.
    """
    from scipy.special import nctdtr  # 25 MB, which a page of verdicts need not hold

    edges = [edge for edge in (low, high) if math.isfinite(edge)]
    distances = [abs(edge - mean) for edge in edges]
    if not low < mean < high:
        distances = [min(distances)]
    if not deviation:
        return float(min(distances) > 0)
    critical = limits(pairs, alpha)[-1]
    scale = math.sqrt(pairs) / deviation
    # the distribution function fails far out, where nothing is missed
    missed = sum(
        float(nctdtr(pairs - 1, min(distance * scale, 35.0), critical)) for distance in distances
    )
    return max(0.0, 1.0 - missed)


def needed(
    *, mean: float, deviation: float, low: float, high: float, alpha: float, wanted: float
) -> int | None:
    """The least of NUMBERS of planned pairs whose `power` is `wanted`; None beyond MAX_PAIRS."""

    def enough(pairs: int) -> bool:
        found = power(pairs, mean=mean, deviation=deviation, low=low, high=high, alpha=alpha)
        return found >= wanted

    place = bisect_left(NUMBERS, True, key=enough)
    return NUMBERS[place] if place < len(NUMBERS) else None
