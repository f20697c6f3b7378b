"""What to try next, and what to stop early: Optuna's samplers and pruners, asked with a study that
is made anew from stored trials each time, so that nothing has to be kept beside the database."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import optuna
from optuna.distributions import (
    BaseDistribution,
    CategoricalDistribution,
    FloatDistribution,
    IntDistribution,
)
from optuna.trial import FrozenTrial, TrialState, create_trial

from ganboard.db.models import ENDED, PRUNED, Search
from ganboard.db.searches.trials import Trial
from ganboard.worker.searches import objective as objectives
from ganboard.worker.searches import space as spaces
from ganboard.worker.searches.definition import REDUCTION, STARTUP
from ganboard.worker.searches.objective import Objective
from ganboard.worker.searches.space import Axis, Space

optuna.logging.set_verbosity(optuna.logging.WARNING)  # it logs each trial otherwise

TRIES = 20  # proposals before an untried combination is taken at random
LISTED = 100_000  # combinations of a finite space that are looked through for an untried one


def propose(search: Search, trials: Sequence[Trial]) -> dict[str, Any] | None:
    """The next combination; None if all are tried.

    The same for the same search and trials, whichever process asks.
    """
    space = spaces.of_stored(search.space)
    tried = {_key(trial.params) for trial in trials}
    distributions = {one.name: _distribution(one) for one in space}
    for attempt in range(TRIES):
        study = _study(search, trials, _seed(search, len(trials), attempt))
        drawn = study.ask(distributions).params
        params = {one.name: one.rounded(drawn[one.name]) for one in space}
        if _key(params) not in tried:
            return params
    return _untried(space, tried, np.random.default_rng(_seed(search, len(trials), TRIES)))


def prunes(search: Search, trials: Sequence[Trial], trial: Trial, epoch: int) -> bool:
    """Whether the pruner stops `trial` with its evaluation of this epoch, in view of what it has
    seen of the others."""
    if search.pruner == "none" or trial.pruned_epoch is not None:
        return False  # who resumes a pruned run wants all of it
    seen = [replace(one, seen_epoch=epoch) if one is trial else one for one in trials]
    study = _study(search, seen, 0, asked=trial.number)
    frozen = study.get_trials(deepcopy=False)[trial.number]
    assert study.pruner is not None
    return bool(frozen.intermediate_values) and study.pruner.prune(study, frozen)


def importance(search: Search, trials: Sequence[Trial]) -> dict[str, float]:
    """The share of the variation of results that each setting explains, by fANOVA (Hutter et al.
    2014); empty where all results are equal."""
    from optuna.importance import FanovaImportanceEvaluator, get_param_importances

    objective = objectives.of_stored(search.objective)
    if len({objective.result(trial) for trial in trials} - {None}) < 2:
        return {}
    found = get_param_importances(
        _study(search, trials, 0), evaluator=FanovaImportanceEvaluator(seed=0)
    )
    return {name: float(share) for name, share in found.items()}


def _study(
    search: Search, trials: Sequence[Trial], seed: int, *, asked: int | None = None
) -> optuna.Study:
    objective = objectives.of_stored(search.objective)
    study = optuna.create_study(
        direction="minimize", sampler=_sampler(search, seed), pruner=_pruner(search)
    )
    distributions = {one.name: _distribution(one) for one in spaces.of_stored(search.space)}
    for trial in trials:
        study.add_trial(_frozen(search, objective, trial, distributions, trial.number == asked))
    return study


def _sampler(search: Search, seed: int) -> optuna.samplers.BaseSampler:
    if search.sampler == "random":
        return optuna.samplers.RandomSampler(seed=seed)
    return optuna.samplers.TPESampler(seed=seed, n_startup_trials=STARTUP)


def _pruner(search: Search) -> optuna.pruners.BasePruner:
    if search.pruner == "median":
        return optuna.pruners.MedianPruner(n_startup_trials=REDUCTION)
    if search.pruner == "halving":
        return optuna.pruners.SuccessiveHalvingPruner(
            min_resource=_first_rung(search), reduction_factor=REDUCTION
        )
    return optuna.pruners.NopPruner()


def _first_rung(search: Search) -> int:
    """The epoch of the first evaluation."""
    return int(search.settings["quality_every"])


def _frozen(
    search: Search,
    objective: Objective,
    trial: Trial,
    distributions: Mapping[str, BaseDistribution],
    asked: bool,
) -> FrozenTrial:
    """A trial as Optuna has it: lower values are better, and what failed counts as worst."""
    sign = -1.0 if objective.higher else 1.0
    result = objective.result(trial)
    last = _last(search, objective, trial)
    reports = {
        one.epoch: sign * one.value
        for one in objectives.finite(trial.evaluations)
        if one.epoch <= last
    }
    state = _state(trial, result)
    if asked:
        state = TrialState.RUNNING  # also where it has ended meanwhile
    value = None
    if state == TrialState.COMPLETE and result is not None:
        value = -result if objective.maximize else result
    return create_trial(
        params=dict(trial.params),
        distributions=dict(distributions),
        state=state,
        value=value,
        intermediate_values=reports,
        system_attrs=_rungs(search, reports, asked),
    )


def _last(search: Search, objective: Objective, trial: Trial) -> float:
    """The epoch up to which the evaluations of a trial count. What a run that is being stopped
    reports before it notices depends on when it does, and does not."""
    if trial.run is not None and trial.run.shown_status == PRUNED and trial.pruned_epoch:
        return trial.pruned_epoch
    reached = objective.reached(trial)
    last = math.inf if reached is None else reached.epoch
    return last if search.pruner == "none" else min(last, trial.seen_epoch)


def _state(trial: Trial, result: float | None) -> TrialState:
    if result is not None:
        return TrialState.COMPLETE
    if trial.run is None:
        # deleted: nothing is known
        return TrialState.FAIL if trial.problem is None else TrialState.PRUNED
    if trial.run.status not in ENDED:
        return TrialState.RUNNING
    if trial.run.status == "stopped" and not trial.run.attempt:
        return TrialState.FAIL  # never started: nothing is known
    return TrialState.PRUNED  # Optuna ranks it below complete ones, by how far it came


def _rungs(search: Search, reports: Mapping[int, float], asked: bool) -> dict[str, Any]:
    """What successive halving keeps of a trial: its value at each rung that it has reached, but for
    the latest report of the trial that it is asked about."""
    if search.pruner != "halving":
        return {}
    found: dict[str, Any] = {}
    epochs = sorted(reports)
    for epoch in epochs[:-1] if asked else epochs:
        while epoch >= _first_rung(search) * REDUCTION ** len(found):
            found[f"completed_rung_{len(found)}"] = reports[epoch]
    return found


def _distribution(axis: Axis) -> BaseDistribution:
    if axis.choices:
        return CategoricalDistribution(axis.choices)
    if axis.whole:
        return IntDistribution(int(axis.low), int(axis.high), log=axis.log)
    return FloatDistribution(axis.low, axis.high, log=axis.log)


def _seed(search: Search, number: int, attempt: int) -> int:
    """Of the sampler for one proposal: independent ones of the search's seed."""
    return int(np.random.SeedSequence([search.seed, number, attempt]).generate_state(1)[0])


def _untried(
    space: Space, tried: set[tuple[Any, ...]], random: np.random.Generator
) -> dict[str, Any] | None:
    """A combination at random that was not tried yet; None if there is none."""
    if spaces.size(space) > LISTED:
        return spaces.draw(space, random)
    names = [one.name for one in space]
    every = (dict(zip(names, values, strict=True)) for values in product(*_values(space)))
    left = [params for params in every if _key(params) not in tried]
    return left[random.integers(len(left))] if left else None


def _values(space: Space) -> list[list[Any]]:
    return [one.values() for one in space]


def _key(params: Mapping[str, Any]) -> tuple[Any, ...]:
    return tuple(sorted((name, str(value)) for name, value in params.items()))
