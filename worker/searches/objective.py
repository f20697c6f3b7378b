"""What a search optimizes: a metric of quality, or the training time until it is good enough."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

from ganboard.db.searches.trials import Evaluation, Trial
from ganboard.gan.config import ConfigError
from ganboard.gan.quality.declared import METRICS, OF_MODEL

Kind = Literal["best", "last", "seconds"]
KINDS: dict[str, str] = {
    "best": "Best value of all evaluations",
    "last": "Value after the last epoch",
    "seconds": "Training seconds until a target is reached",
}


@dataclass(frozen=True)
class Objective:
    """The metric, what of it counts, and for `seconds` the value to reach."""

    metric: str
    kind: Kind = "best"
    target: float | None = None

    def stored(self) -> dict[str, Any]:
        return asdict(self)

    @property
    def higher(self) -> bool:
        """Whether higher values of the metric are better."""
        return METRICS[self.metric].better == "higher"

    @property
    def maximize(self) -> bool:
        """Whether higher values of the objective are better: seconds never are."""
        return self.higher and self.kind != "seconds"

    @property
    def label(self) -> str:
        """The name of the objective on axes and in tables."""
        if self.kind == "seconds":
            return f"Training seconds until {self.goal}"
        return f"{'Best' if self.kind == 'best' else 'Last'} {METRICS[self.metric].label}"

    @property
    def goal(self) -> str:
        """The metric and the value to reach, of `seconds`."""
        assert self.target is not None
        return f"{METRICS[self.metric].label} {'≥' if self.higher else '≤'} {self.target:g}"

    def value(self, trial: Trial) -> float | None:
        """What a trial has reached so far; None if nothing, or not the target."""
        found = finite(trial.evaluations)
        if not found:
            return None
        if self.kind == "last":
            return found[-1].value
        if self.kind == "best":
            return (max if self.higher else min)(one.value for one in found)
        first = self.reached(trial)
        return None if first is None else first.training_seconds

    def reached(self, trial: Trial) -> Evaluation | None:
        """The first evaluation that reached the target of `seconds`; None while none has."""
        if self.kind != "seconds":
            return None
        return next((one for one in finite(trial.evaluations) if self._reaches(one.value)), None)

    def result(self, trial: Trial) -> float | None:
        """`value` of a trial whose run is finished or has reached the target, after which nothing
        changes it; None for any other."""
        run = trial.run
        if run is None:
            return None
        # what a pruned run reports before it notices does not count
        reached = run.pruned_at is None and self.reached(trial) is not None
        return self.value(trial) if reached or run.status == "finished" else None

    def _reaches(self, value: float) -> bool:
        assert self.target is not None
        return value >= self.target if self.higher else value <= self.target


def of_stored(stored: Mapping[str, Any]) -> Objective:
    return Objective(**stored)


def finite(evaluations: Sequence[Evaluation]) -> list[Evaluation]:
    """Those with a finite value."""
    return [one for one in evaluations if math.isfinite(one.value)]


def metrics(model: str) -> list[str]:
    """The metrics of a model that have a better end, the main one first."""
    return [name for name, metric in OF_MODEL[model].items() if metric.better]


def checked(model: str, metric: str, kind: str, target: float | None) -> Objective:
    """An objective as a person gives it. Raises ConfigError."""
    offered = metrics(model)
    if metric not in offered:
        raise ConfigError(
            f"The metric {metric[:40]!r} cannot be optimized for model={model}: choose from"
            f" {', '.join(offered)}."
        )
    if kind not in KINDS:
        raise ConfigError(f"The objective {kind[:40]!r} is not known: use {', '.join(KINDS)}.")
    if kind == "seconds" and (target is None or not math.isfinite(target)):
        raise ConfigError(f"The objective seconds needs a target for {metric}, such as 20.")
    if kind != "seconds" and target is not None:
        raise ConfigError("A target is for the objective seconds only.")
    return Objective(metric, kind, target)  # type: ignore[arg-type]
