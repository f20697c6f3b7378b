"""A search as a person gives it: checked, estimated, started, stopped, continued."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from ganboard.db.errors import NotAllowed
from ganboard.db.models import Search
from ganboard.db.runs import queries
from ganboard.db.searches import searches, trials
from ganboard.gan.config import ConfigError, parse
from ganboard.gan.settings.metadata import defaults
from ganboard.worker.context import Context
from ganboard.worker.formatting import duration, plural
from ganboard.worker.searches import objective as objectives
from ganboard.worker.searches import space as spaces
from ganboard.worker.searches.objective import Objective
from ganboard.worker.searches.space import Space
from ganboard.worker.submission import evaluation, starting, submit, sweep

SAMPLERS = {"tpe": "TPE (Bayesian)", "random": "Random"}
PRUNERS = {"none": "None", "median": "Median", "halving": "Successive halving"}
STARTUP = 10  # trials that TPE draws at random before it learns
REDUCTION = 3  # of successive halving; finished runs that the median needs
EVALUATIONS = 9  # of each run, where nothing else is set and they are needed on the way
MAX_RUNS, MAX_HOURS, MAX_PARALLEL = 1000, 10_000.0, 64
IMPORTANCE_TRIALS = 10  # finished, from which it is known how much each setting matters
SAMPLES = 20  # combinations that the estimate rests on
EVERY = evaluation.EVERY
NO_DRIVER = (
    "No process submits the runs of searches. `ganboard up` starts one once there is a search;"
    " elsewhere run `ganboard search drive`."
)


@dataclass(frozen=True)
class Budget:
    """How many runs in all, for how many hours of training, and how many at once."""

    runs: int
    hours: float | None = None
    parallel: int = 1

    @classmethod
    def of(cls, search: Search) -> Budget:
        return cls(search.runs, search.hours, search.parallel)

    def check(self) -> None:
        """Raises ConfigError."""
        if not 1 <= self.runs <= MAX_RUNS:
            raise ConfigError(f"runs={self.runs:,} is not possible: use 1 to {MAX_RUNS:,}.")
        if self.hours is not None and not 0 < self.hours <= MAX_HOURS:
            raise ConfigError(
                f"hours={self.hours:g} is not possible: use more than 0 and at most"
                f" {MAX_HOURS:,.0f}."
            )
        if not 1 <= self.parallel <= MAX_PARALLEL:
            raise ConfigError(
                f"{self.parallel:,} runs at once are not possible: use 1 to {MAX_PARALLEL}."
            )


@dataclass(frozen=True)
class Plan:
    """A search that can be started, and what it amounts to."""

    search: Search
    budget: Budget
    evaluated: str  # how often its runs are evaluated
    seconds: tuple[float, float, float] | None  # of one run: likely, low, high
    basis: str  # of that estimate
    refused: int  # of SAMPLES combinations
    reason: str  # of the first of them

    @property
    def refused_share(self) -> float:
        """Of combinations drawn at random."""
        return self.refused / SAMPLES

    @property
    def total_seconds(self) -> tuple[float, float, float] | None:
        """Of all runs one after another, at most the hours of the budget: likely, low, high."""
        if self.seconds is None:
            return None
        most = math.inf if self.budget.hours is None else 3600 * self.budget.hours
        likely, low, high = (min(self.budget.runs * each, most) for each in self.seconds)
        return likely, low, high


def plan(
    context: Context,
    base: Mapping[str, Any],
    space: Space,
    *,
    objective: Objective,
    sampler: str,
    pruner: str,
    seed: int,
    budget: Budget,
    preset: str = "",
    name: str = "",
) -> Plan:
    """Check all of a search before anything is stored; `base` are the settings that all runs share.

    Raises ConfigError, BadName and DatasetError, each with one sentence.
    """
    budget.check()
    if sampler not in SAMPLERS:
        raise ConfigError(f"The sampler {sampler[:40]!r} is not known: use {', '.join(SAMPLERS)}.")
    if pruner not in PRUNERS:
        raise ConfigError(f"The pruner {pruner[:40]!r} is not known: use {', '.join(PRUNERS)}.")
    if not 0 <= seed < 2**31:
        raise ConfigError(f"The seed {seed} is not possible: use 0 to {2**31 - 1:,}.")
    if not space:
        raise ConfigError("Nothing to search: vary a setting, such as g_learning_rate=1e-5..1e-3.")
    whole = {**defaults(base), **base}
    for one in space:
        if one.name not in whole:
            raise ConfigError(f"{one.name} has no meaning for model={whole['model']}.")
    title = sweep.check_title(name, preset, whole)
    settings, evaluated = _evaluated(context, base, objective, pruner)
    search = Search(
        name=title,
        preset=preset,
        owner=context.user,
        settings=settings,
        space={one.name: one.stored() for one in space},
        objective=objective.stored(),
        sampler=sampler,
        pruner=pruner,
        seed=seed,
        runs=budget.runs,
        hours=budget.hours,
        parallel=budget.parallel,
    )
    return _estimated(context, search, budget, evaluated)


def sentences(plan: Plan) -> list[str]:
    """What a search amounts to, before it is started."""
    search, budget = plan.search, plan.budget
    objective, space = objectives.of_stored(search.objective), spaces.of_stored(search.space)
    count = spaces.size(space)
    combinations = "" if math.isinf(count) else f", {plural(int(count), 'combination')}"
    hours = "" if budget.hours is None else f", at most {budget.hours:g} hours of training"
    found = [
        f"{objective.label}: {'maximize' if objective.maximize else 'minimize'}. "
        + "; ".join(f"{one.name}: {one.text()}" for one in space)
        + f"{combinations}.",
        f"{plural(budget.runs, 'run')}, {budget.parallel} at a time{hours}. {plan.evaluated}",
    ]
    if (total := plan.total_seconds) is None:
        found.append("Time unknown: no similar run has been measured on this machine.")
    else:
        likely, low, high = map(duration, total)
        span = likely if low == high else f"{low} to {high}, likely {likely}"
        less = " Pruned runs take less." if search.pruner != "none" else ""
        if objective.kind == "seconds":
            less += " A run that reaches the target stops there."
        found.append(f"Time in sequence: {span} ({plan.basis}).{less}")
    if plan.refused:
        found.append(
            f"{plan.refused} of {SAMPLES} combinations drawn at random cannot run: {plan.reason}"
        )
    return found


def start(context: Context, plan: Plan) -> Search:
    """Store a search; `ganboard search drive`, which `ganboard up` has, submits its runs. Raises
    ConfigError and DatasetError where the data cannot be had."""
    first = next(iter(_members(context, plan.search)))
    assert first.config is not None
    submit.check(context, first.config)
    config = starting.checked(context, first.config)
    plan.search.settings = {**plan.search.settings, "start_from": config.start_from}
    return searches.add(context.engine, plan.search)


def resume(context: Context, search: Search, budget: Budget | None = None) -> Search:
    """Let a search go on, with a budget in place of its own if one is given. Raises ConfigError,
    NotAllowed."""
    budget = budget or Budget.of(search)
    budget.check()
    found = trials.of_search(
        context.engine, search.id, objectives.of_stored(search.objective).metric
    )
    if why := used_up(budget, found):
        raise NotAllowed(f"{why} Raise the budget to continue.")
    return searches.resume(context.engine, search.id, asdict(budget))


def stop_runs(context: Context, search: Search) -> int:
    """Stop the runs of a search that have not ended; returns how many."""
    stopped = 0
    for run in queries.sweep_runs(context.engine, search.id):
        try:
            submit.stop(context, run.id)
            stopped += 1
        except NotAllowed:  # it has ended
            continue
    return stopped


def used_up(budget: Budget, found: list[trials.Trial]) -> str | None:
    """Why no further run may be submitted, in a sentence; None while one may."""
    submitted = sum(trial.problem is None for trial in found)
    if submitted >= budget.runs:
        return f"The budget of {budget.runs:,} runs is used."
    return hours_used(budget, found)


def hours_used(budget: Budget, found: list[trials.Trial]) -> str | None:
    """That the hours of training are used, in a sentence; None while they are not."""
    seconds = sum(trial.run.seconds for trial in found if trial.run)
    if budget.hours is not None and seconds >= 3600 * budget.hours:
        return f"The budget of {budget.hours:g} hours of training is used."
    return None


def _evaluated(
    context: Context, base: Mapping[str, Any], objective: Objective, pruner: str
) -> tuple[dict[str, Any], str]:
    """The settings with an evaluation as often as objective and pruner need, and a sentence."""
    epochs = int(parse({**base, EVERY: 0}).epochs)
    on_the_way = pruner != "none" or objective.kind != "last"
    if every := int(base.get(EVERY) or 0):
        if pruner != "none" and every >= epochs:
            raise ConfigError(
                f"{EVERY}={every} evaluates after the last of {epochs} epochs only, which leaves"
                " nothing to prune. Lower it, raise epochs, or use no pruner."
            )
        return dict(base), evaluation.as_set(base, {}).sentence
    found = evaluation.by_default(context, base, {})
    if not found.settings:
        raise ConfigError(f"A search needs evaluations. {found.sentence}")
    every = max(1, epochs // EVALUATIONS) if on_the_way else min(epochs, 10_000)
    if pruner != "none" and epochs < 2:
        raise ConfigError("With epochs=1 there is nothing to prune. Raise it, or use no pruner.")
    settings = {**base, EVERY: every}
    return settings, evaluation.as_set(settings, {}).sentence


def _members(context: Context, search: Search) -> list[sweep.Member]:
    """SAMPLES combinations at random as the runs that they would be, those that can be first."""
    random = np.random.default_rng(search.seed)
    space = spaces.of_stored(search.space)
    here, history = submit.machines(context), submit.run_history(context)
    found = [
        member
        for _ in range(SAMPLES)
        for member in sweep.members(
            search.settings,
            {name: [value] for name, value in spaces.draw(space, random).items()},
            title=search.name,
            data_dir=context.settings.data,
            here=here,
            history=history,
            finished={},
        )
    ]
    return sorted(found, key=lambda member: member.problem is not None)


def _estimated(context: Context, search: Search, budget: Budget, evaluated: str) -> Plan:
    drawn = _members(context, search)
    able = [member for member in drawn if not member.problem]
    if not able:
        raise ConfigError(
            f"None of {SAMPLES} combinations drawn at random can run. {drawn[0].problem}"
        )
    refused = [member for member in drawn if member.problem]
    known = [member for member in able if member.estimate]
    seconds, basis = None, ""
    if known and len(known) == len(able):
        likely, low, high, _ = sweep.totals(known)
        seconds = likely / len(known), low / len(known), high / len(known)
        assert known[0].estimate is not None
        basis = (
            f"mean of {len(known)} combinations drawn at random, the first"
            f" {known[0].estimate.basis}"
        )
    reason = str(refused[0].problem) if refused else ""
    return Plan(search, budget, evaluated, seconds, basis, len(refused), reason)
