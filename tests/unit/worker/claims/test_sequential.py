"""Error rates under optional stopping, by simulation with other random numbers than the limits
were computed with."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
import pytest

from ganboard.worker.claims import sequential
from ganboard.worker.claims.limits import FIRST_LOOK, MAX_PAIRS

RUNS = 20_000
NOISE = 3 * math.sqrt(0.05 * 0.95 / RUNS)  # three standard errors of a share of 5 %


def missed(effects: npt.NDArray[np.float64], truth: float, alpha: float) -> npt.NDArray[np.bool_]:
    """Which of the sequences [runs, pairs] had an interval without the `truth` at any look."""
    planned = effects.shape[1]
    critical = sequential.limits(planned, alpha)
    out = np.zeros(len(effects), dtype=bool)
    for count in range(FIRST_LOOK, planned + 1):
        known = effects[:, :count]
        half = critical[count - FIRST_LOOK] * known.std(axis=1, ddof=1) / math.sqrt(count)
        out |= np.abs(known.mean(axis=1) - truth) > half
    return out


@pytest.mark.parametrize("planned", [3, 4, 8, 20])
def test_stopping_at_any_pair_keeps_the_error(planned: int) -> None:
    random = np.random.default_rng(planned)
    effects = random.normal(0.26, 0.03, (RUNS, planned))
    wrong = missed(effects, 0.26, 0.05).mean()
    assert abs(wrong - 0.05) < NOISE + 0.0015  # that of the limits themselves
    # without the limits, looking after every pair is wrong far more often
    if planned == 20:
        naive = np.zeros(RUNS, dtype=bool)
        for count in range(FIRST_LOOK, planned + 1):
            known = effects[:, :count]
            error = known.std(axis=1, ddof=1) / math.sqrt(count)
            naive |= np.abs(known.mean(axis=1) - 0.26) > 2.1 * error
        assert naive.mean() > 0.15


def test_the_planned_number_of_pairs_has_the_power() -> None:
    pairs = sequential.needed(
        mean=0.3, deviation=0.12, low=0.2, high=math.inf, alpha=0.05, wanted=0.8
    )
    assert pairs is not None
    effects = np.random.default_rng(1).normal(0.3, 0.12, (RUNS, pairs))
    decided = missed(effects, 0.2, 0.05).mean()
    assert 0.79 < decided < 0.9  # few numbers are tried, and earlier looks add a little


def test_equivalence_needs_both_limits() -> None:
    same = {"mean": 0.0, "deviation": 0.4, "alpha": 0.05, "wanted": 0.8}
    both = sequential.needed(**same, low=-0.5, high=0.5)
    one = sequential.needed(**same, low=-math.inf, high=0.5)
    assert both is not None
    assert one is not None
    assert both > one
    effects = np.random.default_rng(2).normal(0.0, 0.4, (RUNS, both))
    excluded = missed(effects, 0.5, 0.05) & missed(effects, -0.5, 0.05)
    assert 0.79 < excluded.mean() < 0.94


def test_a_difference_as_large_as_the_margin_is_called_equal_in_five_percent_at_most() -> None:
    effects = np.random.default_rng(3).normal(0.5, 0.4, (RUNS, 10))
    inside = np.zeros(RUNS, dtype=bool)
    critical = sequential.limits(10, 0.05)
    for count in range(FIRST_LOOK, 11):
        known = effects[:, :count]
        half = critical[count - FIRST_LOOK] * known.std(axis=1, ddof=1) / math.sqrt(count)
        mean = known.mean(axis=1)
        inside |= (mean - half >= -0.5) & (mean + half <= 0.5)
    assert inside.mean() < 0.025 + NOISE


def test_intervals_of_few_pairs_are_wide_and_all_are_about_the_mean() -> None:
    effects = np.array([0.1, 0.2, 0.15, 0.12, 0.18])
    found = sequential.intervals(effects, planned=8, alpha=0.05)
    assert [one.pairs for one in found] == [3, 4, 5]
    assert found[-1].mean == pytest.approx(effects.mean())
    widths = [one.high - one.low for one in found]
    assert widths == sorted(widths, reverse=True)
    assert sequential.intervals(effects[:2], planned=8, alpha=0.05) == []


def test_what_hardly_differs_needs_too_many_pairs() -> None:
    never = sequential.needed(
        mean=0.001, deviation=1.0, low=0.0, high=math.inf, alpha=0.05, wanted=0.8
    )
    assert never is None
    at_once = sequential.needed(
        mean=1.0, deviation=0.0, low=0.0, high=math.inf, alpha=0.05, wanted=0.8
    )
    assert at_once == FIRST_LOOK


def test_error_is_spent_whole_at_the_last_pair() -> None:
    assert sequential.spent(1.0, 0.05) == pytest.approx(0.05)
    assert sequential.spent(0.5, 0.05) < 0.01
    assert len(sequential.limits(MAX_PAIRS, 0.05)) == MAX_PAIRS - FIRST_LOOK + 1
