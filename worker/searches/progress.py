"""How far a search is and what it has found, from the database alone: for pages and the command
line. Free of Optuna."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from statistics import mean, median
from typing import Any

from ganboard.db.models import ENDED, Run, Search
from ganboard.db.searches import trials
from ganboard.db.searches.trials import Trial
from ganboard.worker.context import Context
from ganboard.worker.searches import objective as objectives
from ganboard.worker.searches import space as spaces
from ganboard.worker.searches.definition import PRUNERS, SAMPLERS, STARTUP
from ganboard.worker.searches.objective import Objective
from ganboard.worker.searches.space import Space

REFUSED, DELETED = "refused", "deleted"  # of trials without a run
REACHED = "reached"  # of one whose run was stopped at the target


@dataclass(frozen=True)
class Progress:
    """A search at one moment."""

    search: Search
    objective: Objective
    space: Space
    trials: list[Trial]

    @property
    def submitted(self) -> int:
        """Runs that count towards the budget."""
        return sum(trial.problem is None for trial in self.trials)

    @property
    def states(self) -> Mapping[str, int]:
        """Trials by state."""
        return Counter(map(self.state, self.trials))

    def state(self, trial: Trial) -> str:
        """How a trial is shown: the state of its run, or why it has none, or that its run has
        ended with the target reached."""
        if trial.run is None:
            return DELETED if trial.problem is None else REFUSED
        shown = trial.run.shown_status
        if shown in ("stopped", "failed") and self.objective.result(trial) is not None:
            return REACHED
        return shown

    @property
    def finished(self) -> int:
        """Runs that have ended with a result."""
        return self.states["finished"] + self.states[REACHED]

    @property
    def ended(self) -> int:
        """Runs that have ended, deleted ones included."""
        return self.submitted - sum(
            trial.run is not None and trial.run.status not in ENDED for trial in self.trials
        )

    @property
    def hours(self) -> float:
        """Hours of training so far, of runs that are not deleted."""
        return sum(trial.run.seconds for trial in self.trials if trial.run) / 3600

    @property
    def results(self) -> list[tuple[Trial, float]]:
        """The trials with a result, in their order."""
        found = ((trial, self.objective.result(trial)) for trial in self.trials)
        return [(trial, result) for trial, result in found if result is not None]

    @property
    def best(self) -> tuple[Trial, float] | None:
        """The best result; of equal ones the first."""
        choose = max if self.objective.maximize else min
        return choose(self.results, key=lambda one: one[1]) if self.results else None

    @property
    def seconds_left(self) -> tuple[float, str] | None:
        """Seconds until the budget is used, with so many runs at once, and from what that is known;
        None before the first run has ended."""
        runs = [trial.run for trial in self.trials if trial.run]
        ended = [run for run in runs if run.status in ENDED and run.started_at and run.ended_at]
        if not ended or self.search.state != "running":
            return None
        usual = median(map(_duration, ended))
        left = float(self.search.runs - self.submitted)
        training = mean(run.seconds for run in ended)
        if self.search.hours is not None and training:
            left = min(left, max(0.0, 3600 * (self.search.hours - self.hours) / training))
        going = [run for run in runs if run.status not in ENDED]
        seconds = left * usual + sum(max(0.0, usual - _duration(run)) for run in going)
        many = "run that has" if len(ended) == 1 else f"{len(ended)} runs that have"
        return seconds / self.search.parallel, f"median duration of the {many} ended"

    @property
    def method(self) -> str:
        """Sampler, pruner and seed in words."""
        learns = f", random for the first {STARTUP} trials" if self.search.sampler == "tpe" else ""
        pruner = PRUNERS[self.search.pruner].lower()
        pruning = "no pruner" if self.search.pruner == "none" else f"pruner: {pruner}"
        return f"{SAMPLERS[self.search.sampler]}{learns}; {pruning}; seed {self.search.seed}"


def read(context: Context, search: Search) -> Progress:
    objective = objectives.of_stored(search.objective)
    return Progress(
        search,
        objective,
        spaces.of_stored(search.space),
        trials.of_search(context.engine, search.id, objective.metric),
    )


def _duration(run: Run) -> float:
    """Seconds from the start of a run to its end, or to its latest progress."""
    last = run.ended_at or run.progress_at
    return (last - run.started_at).total_seconds() if last and run.started_at else 0.0


def document(progress: Progress) -> dict[str, Any]:
    """What `ganboard search show --json` prints."""
    search, best, left = progress.search, progress.best, progress.seconds_left
    return {
        **search.model_dump(),
        "submitted": progress.submitted,
        "ended": progress.ended,
        "hours_trained": progress.hours,
        "seconds_left": left and left[0],
        "best": best and {"trial": best[0].number, "value": best[1], "params": best[0].params},
        "trials": [
            {
                "number": trial.number,
                "run": trial.run and trial.run.id,
                "state": progress.state(trial),
                "params": trial.params,
                "value": progress.objective.result(trial),
                "so_far": progress.objective.value(trial),
                "pruned_epoch": trial.pruned_epoch,
                "problem": trial.problem,
            }
            for trial in progress.trials
        ],
    }
