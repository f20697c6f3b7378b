"""Whether and how the runs of a sweep are evaluated: after their last epoch, unless a person has
set it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any

from ganboard.db import requests
from ganboard.db.runs import evaluations, past_runs
from ganboard.gan.config import ConfigError, RunConfig, parse
from ganboard.gan.data.dataset import DatasetError
from ganboard.gan.quality import choice
from ganboard.gan.settings.metadata import defaults, fields_by_group
from ganboard.worker.context import Context
from ganboard.worker.formatting import duration, plural

EVERY = "quality_every"
_LONGEST = 10_000  # of `quality_every`; training evaluates after the last epoch all the same


@dataclass(frozen=True)
class Evaluation:
    """What a sweep's evaluation adds to the settings of its runs, and what to say about it."""

    sentence: str
    settings: dict[str, Any] = field(default_factory=dict)


def of_sweep(
    context: Context, base: Mapping[str, Any], varied: Mapping[str, Sequence[Any]]
) -> Evaluation:
    """The evaluation that the person or the preset asks for, else the usual one."""
    if EVERY in {**base, **varied}:
        return as_set(base, varied)
    return by_default(context, base, varied)


def by_default(
    context: Context, base: Mapping[str, Any], varied: Mapping[str, Sequence[Any]]
) -> Evaluation:
    """An evaluation after the last epoch of all runs, with what it costs if that is known; none,
    and the reason, where some of the data cannot be evaluated."""
    whole = {**defaults(base), **base}
    epochs = max(_number(value) for value in varied.get("epochs", [whole["epochs"]]))
    configs = _distinct(whole, varied)
    for config in configs:
        try:
            reason = choice.obstacle(config, context.settings.data)
        except (ConfigError, DatasetError):
            continue  # its runs are refused, with this reason
        if reason:
            return Evaluation(f"The runs are not evaluated. {reason}")
    said = f"Each run is evaluated after its last epoch ({EVERY})"
    costs = [
        past_runs.evaluation_seconds(context.engine, config.model_dump(mode="json"))
        for config in configs
    ]
    known = [cost for cost in costs if cost]
    if known:
        seconds, count = max(known)
        basis = f"measured on {plural(count, 'evaluation')}"
        sentence = f"{said}, which takes about {duration(seconds)} per run ({basis})."
    else:
        sentence = f"{said}. What that takes is known after the first evaluation."
    return Evaluation(sentence, {EVERY: min(epochs, _LONGEST)})


def as_set(base: Mapping[str, Any], varied: Mapping[str, Sequence[Any]]) -> Evaluation:
    """The evaluation that the settings themselves ask for."""
    if EVERY in varied:
        return Evaluation(f"The runs are evaluated as {EVERY} says.")
    if every := _number(base.get(EVERY, 0)):
        return Evaluation(
            f"Each run is evaluated every {plural(every, 'epoch')} and after the last ({EVERY})."
        )
    return Evaluation(f"The runs are not evaluated ({EVERY}=0).")


def _number(value: Any) -> int:
    """0 for what is no whole number: the runs are refused, with that reason."""
    try:
        return int(value)
    except ValueError:
        return 0


def evaluate_reused(context: Context, run_ids: Sequence[str], evaluation: Evaluation) -> list[str]:
    """Ask for the evaluation of finished runs that stand for runs of a sweep and were trained
    without, as far as their checkpoints are stored; returns which. Raises NotAllowed and
    UnknownRun."""
    if not evaluation.settings:
        return []
    evaluated = evaluations.last_epochs(context.engine, run_ids)
    stored = evaluations.pending(context.engine, run_ids)
    asked = [run_id for run_id in run_ids if run_id in stored and run_id not in evaluated]
    for run_id in asked:
        requests.ask(context.engine, requests.EVALUATION, [run_id], {})
    return asked


def _distinct(whole: Mapping[str, Any], varied: Mapping[str, Sequence[Any]]) -> list[RunConfig]:
    """A valid configuration for each combination of what an evaluation depends on."""
    groups = fields_by_group(whole)
    deciding = {"model", *groups["Data"], *groups["Model"], *groups["Quality"]}
    names = [name for name in varied if name in deciding]
    found = []
    for combination in product(*(varied[name] for name in names)):
        try:
            found.append(parse({**whole, **dict(zip(names, combination, strict=True))}))
        except ConfigError:
            continue  # its runs are refused, with this reason
    return found
