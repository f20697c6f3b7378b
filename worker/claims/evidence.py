"""What the two runs of a pair measured, or why they are no evidence."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from sqlalchemy import Engine

from ganboard.db.claims import records
from ganboard.db.models import Epoch, Quality, Run
from ganboard.db.runs import queries
from ganboard.gan.config import diff
from ganboard.gan.data import revision
from ganboard.gan.devices.hardware import devices
from ganboard.gan.quality.declared import METRICS
from ganboard.gan.settings.features import conflict, recorded
from ganboard.worker.claims.statement import MEMORY, RATE, SECONDS_TO, SPEED, Condition
from ganboard.worker.errors import WorkerError
from ganboard.worker.formatting import plural

ARMS = (records.CONTROL, records.TREATMENT)


class NoEvidence(WorkerError):
    """A run did not measure what the claim is about; the message is one sentence."""


def order(pair: int) -> tuple[str, str]:
    """The arms of a pair (from 1) in the order of their runs: they swap from pair to pair, so that
    a machine that gets slower or quicker favours neither."""
    return (ARMS[0], ARMS[1]) if pair % 2 else (ARMS[1], ARMS[0])


def machine(run: Run) -> dict[str, Any]:
    """What times depend on: host, devices, versions."""
    hardware = run.hardware or {}
    return {
        "host": hardware.get("host", ""),
        "devices": devices(hardware),
        "versions": hardware.get("versions", {}),
    }


def pair(
    engine: Engine,
    number: int,
    runs: Mapping[str, Run],
    conditions: Sequence[Condition],
    first: Mapping[str, Any] | None,
) -> dict[str, Any]:
    """A pair whose runs have finished, as it is stored: seed, runs in their order, the values of
    each condition [control, treatment], remarks; `refused` says why it does not count.

    `first` is the machine of the claim's first pair. Raises NoEvidence.
    """
    control, treatment = (runs[arm] for arm in ARMS)
    values = {
        condition.key: [measured(engine, run, condition) for run in (control, treatment)]
        for condition in conditions
    }
    return {
        "pair": number,
        "seed": int(control.config["seed"]),
        "order": list(order(number)),
        "runs": {arm: run.id for arm, run in runs.items()},
        "values": values,
        "features": _features(control, conditions),
        "refused": _refusal(control, treatment, conditions, first),
        "remarks": _remarks(engine, control, treatment, conditions),
    }


def measured(engine: Engine, run: Run, condition: Condition) -> float:
    """The quantity of a condition in a finished run: seconds, images per second, bytes or a metric.
    Raises NoEvidence."""
    if condition.quantity in (SPEED, RATE):
        return _speed(queries.epochs(engine, run.id), run, condition.quantity)
    if condition.quantity == MEMORY:
        return _memory(queries.epochs(engine, run.id), run)
    found = queries.qualities(engine, run.id)
    if condition.quantity == SECONDS_TO:
        return _seconds_to(found, run, condition)
    last = found[-1].measures.get(condition.quantity) if found else None
    if last is None or not math.isfinite(last):
        raise NoEvidence(
            f"Run {run.id} has no {METRICS[condition.quantity].label} after its last epoch."
        )
    return last


def _speed(epochs: list[Epoch], run: Run, quantity: str) -> float:
    """Over the warm epochs: not the first of an attempt, which also fills caches."""
    warm = [after for before, after in pairwise(epochs) if before.attempt == after.attempt]
    seconds = sum(epoch.seconds for epoch in warm)
    if not seconds > 0:
        raise NoEvidence(
            f"Run {run.id} has no epoch after the first of an attempt, which is cold: its speed is"
            " unknown. Train more epochs."
        )
    if quantity == SPEED:
        return seconds / len(warm)
    return sum(epoch.images for epoch in warm) / seconds


def _memory(epochs: list[Epoch], run: Run) -> float:
    peaks = [epoch.measures.get("peak_memory_bytes", 0.0) for epoch in epochs]
    if not max(peaks, default=0.0) > 0:
        raise NoEvidence(f"Run {run.id} has not recorded its peak memory.")
    return max(peaks)


def _seconds_to(found: list[Quality], run: Run, condition: Condition) -> float:
    for one in found:
        value = one.measures.get(condition.metric, math.nan)
        falls = condition.smaller_reached
        if value <= condition.target if falls else value >= condition.target:
            return one.training_seconds
    raise NoEvidence(
        f"Run {run.id} did not reach {METRICS[condition.metric].label} {condition.target:g} in"
        f" {plural(run.epoch, 'epoch')}. Train longer, or choose a target that both reach."
    )


def _features(run: Run, conditions: Sequence[Condition]) -> str:
    """What distances are measured in, as `gan.settings.features` stores it; empty without any."""
    metrics = [METRICS[one.evaluated] for one in conditions if one.evaluated]
    return recorded(run.facts).fact if any(one.by_features for one in metrics) else ""


def _refusal(
    control: Run, treatment: Run, conditions: Sequence[Condition], first: Mapping[str, Any] | None
) -> str:
    here = first or machine(control)
    for run in (control, treatment):
        its = machine(run)
        for name, word in (("devices", "hardware"), ("host", "machine")):
            if its[name] != here[name]:
                return (
                    f"Run {run.id} trained on other {word} ({its[name]}) than the first run"
                    f" ({here[name]}): their times are not comparable."
                )
        if versions := diff(here["versions"], its["versions"]):
            names = ", ".join(sorted(versions))
            return f"Run {run.id} trained with other versions than the first run ({names})."
    if revision.recorded(control.facts) != revision.recorded(treatment.facts):
        return "The sampled data of the two runs differ."
    sources = [recorded(run.facts) for run in (control, treatment)]
    for condition in conditions:
        name = condition.evaluated
        if name and METRICS[name].by_features and (why := conflict(METRICS[name].label, sources)):
            return why
    return ""


def _remarks(
    engine: Engine, control: Run, treatment: Run, conditions: Sequence[Condition]
) -> list[str]:
    found = []
    for run in (control, treatment):
        if run.attempt > 1:
            found.append(
                f"Run {run.id} was interrupted and resumed; the first epoch of each attempt is not"
                " timed."
            )
        if others := records.beside(engine, run):
            found.append(
                f"{plural(len(others), 'other run')} trained on the same machine during run"
                f" {run.id}: its times may be disturbed."
            )
    accuracies = [run.facts.get("classifier_accuracy") for run in (control, treatment)]
    evaluated = any(condition.evaluated for condition in conditions)
    if evaluated and accuracies[0] != accuracies[1]:
        found.append(
            "The quality of the two runs was evaluated with different classifiers: small"
            " differences are not meaningful."
        )
    return found
