"""Proposals: the same for the same trials, better with what was learned, never twice the same."""

from __future__ import annotations

import math
import warnings
from dataclasses import replace
from datetime import UTC, datetime
from statistics import median
from typing import Any

import pytest

from ganboard.db.models import Run, Search
from ganboard.db.searches.trials import Evaluation, Trial
from ganboard.worker.searches import proposals, space
from ganboard.worker.searches.objective import Objective

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def search(*axes: str, sampler: str = "tpe", pruner: str = "none", seed: int = 0) -> Search:
    found = space.axes(axes or ("g_learning_rate=1e-5..1e-2", "batch_size=32,64"))
    return Search(
        name="a search",
        settings={"quality_every": 1},
        space={one.name: one.stored() for one in found},
        objective=Objective("fid").stored(),
        sampler=sampler,
        pruner=pruner,
        seed=seed,
        runs=99,
        parallel=1,
    )


def trial(
    number: int, params: dict[str, Any], *fids: float, status: str = "finished", seen: int = 99
) -> Trial:
    run = Run(id=f"run{number}", name="a run", status=status, config={})
    evaluations = tuple(Evaluation(epoch, fid, 1.0, NOW) for epoch, fid in enumerate(fids, 1))
    return Trial(number, params, None, seen, None, run, evaluations)


def fid(params: dict[str, Any]) -> float:
    off = math.log10(params.get("g_learning_rate", 1e-3)) - math.log10(3e-4)
    return off * off + params.get("batch_size", 0) / 1000


def tried(asked: Search, count: int) -> list[dict[str, Any]]:
    trials: list[Trial] = []
    for number in range(count):
        params = proposals.propose(asked, trials)
        assert params is not None
        trials.append(trial(number, params, fid(params)))
    return [dict(one.params) for one in trials]


@pytest.mark.parametrize("sampler", ["random", "tpe"])
def test_equal_searches_try_the_same(sampler: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # no warning of an experimental feature either
        one = tried(search(sampler=sampler), 14)
        assert tried(search(sampler=sampler), 14) == one
        other = tried(search(sampler=sampler, seed=1), 14)
    assert other != one
    assert len({params["g_learning_rate"] for params in one}) == 14
    assert all(1e-5 <= params["g_learning_rate"] <= 1e-2 for params in one)


def test_tpe_learns() -> None:
    for seed in (0, 2):
        of_tpe, at_random = (
            median(fid(params) for params in tried(search(sampler=sampler, seed=seed), 40)[-20:])
            for sampler in ("tpe", "random")
        )
        assert of_tpe < at_random / 2


def test_failed_trials_count_as_worst() -> None:
    asked = search("g_learning_rate=1e-5..1e-2")
    grid = [10 ** (-5 + 3 * place / 19) for place in range(20)]
    trials = [
        trial(number, {"g_learning_rate": rate}, 5.0)
        if rate < 1e-3
        else trial(number, {"g_learning_rate": rate}, status="failed")
        for number, rate in enumerate(grid)
    ]
    for number in range(20, 26):
        params = proposals.propose(asked, trials)
        assert params is not None
        assert params["g_learning_rate"] < 2e-3
        trials.append(trial(number, params, 5.0))


def test_what_never_started_says_nothing() -> None:
    asked = search()
    trials = [trial(number, params, 5.0) for number, params in enumerate(tried(asked, 12))]
    waited = trial(12, {"g_learning_rate": 2e-4, "batch_size": 32}, status="stopped")
    deleted = replace(waited, run=None)
    proposed = [proposals.propose(asked, [*trials, one]) for one in (waited, deleted)]
    assert proposed[0] == proposed[1]


@pytest.mark.parametrize("pruner", ["none", "median"])
def test_what_a_run_reports_after_its_target_changes_nothing(pruner: str) -> None:
    asked = search(pruner=pruner)
    asked.objective = Objective("fid", "seconds", 5.0).stored()
    params = tried(asked, 12)

    def trials(*late: float) -> list[Trial]:
        return [
            trial(number, one, 9.0, 4.0 + number / 20, *late, status="stopped")
            for number, one in enumerate(params)
        ]

    early, later = trials(), trials(3.0, 2.0)
    assert proposals.propose(asked, early) == proposals.propose(asked, later)
    running = trial(12, params[0], 9.0, 8.0, 7.0, status="running")
    assert proposals.prunes(asked, [*early, running], running, 3) == proposals.prunes(
        asked, [*later, running], running, 3
    )


def test_finite_spaces_are_exhausted() -> None:
    asked = search("batch_size=32,64", "xla=true,false", "d_steps=1..2")
    found = tried(asked, 8)
    assert len({tuple(params.values()) for params in found}) == 8
    trials = [trial(number, params, 1.0) for number, params in enumerate(found)]
    assert proposals.propose(asked, trials) is None


def test_what_is_deleted_is_not_tried_again() -> None:
    asked = search("batch_size=32,64")
    gone = Trial(0, {"batch_size": 32}, None, 0, None, None, ())
    assert proposals.propose(asked, [gone]) == {"batch_size": 64}


def test_halving_asks_at_its_rungs_only() -> None:
    asked = search(pruner="halving")
    params = {"g_learning_rate": 1e-4, "batch_size": 32}
    good = trial(0, params, *[1.0] * 9)
    for epoch, stops in ((1, True), (2, False), (3, True), (4, False), (9, True)):
        running = trial(1, params, *[2.0] * epoch, status="running", seen=epoch - 1)
        # before a rung it has passed the earlier ones, whatever their values were
        assert proposals.prunes(asked, [good, running], running, epoch) is stops, epoch
        best = trial(1, params, *[0.5] * epoch, status="running", seen=epoch - 1)
        assert not proposals.prunes(asked, [good, best], best, epoch)


def test_none_prunes_nothing() -> None:
    asked = search()
    running = trial(0, {"g_learning_rate": 1e-4, "batch_size": 32}, 9.0, status="running")
    assert not proposals.prunes(asked, [running], running, 1)


def test_importance_finds_the_setting_that_matters() -> None:
    asked = search(sampler="random")
    trials = [
        trial(number, params, fid({"g_learning_rate": params["g_learning_rate"]}))
        for number, params in enumerate(tried(asked, 20))
    ]
    shares = proposals.importance(asked, trials)
    assert shares["g_learning_rate"] > 0.9
    assert sum(shares.values()) == pytest.approx(1)
    assert proposals.importance(asked, trials[:1]) == {}
