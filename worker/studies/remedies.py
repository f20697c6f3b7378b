"""What would shorten a run's bottleneck on the machine where it trained."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ganboard.db.models import Run
from ganboard.gan.config import ConfigError, RunConfig, config_class, parse
from ganboard.gan.devices import capabilities


def remedy(part: str, run: Run) -> str:
    """Advice on `part` (of `worker.figures.timings.PARTS`), as a sentence.

    It names only changes that the run has not made already, that its machine can run and that save
    time there; it is empty when there is none, or when the machine or a setting is not known.
    """
    fields = config_class(run.config).model_fields
    known = {name: value for name, value in run.config.items() if name in fields}
    if run.examples:
        known["limit"] = run.examples  # a batch cannot be larger
    try:
        config = parse(known)
    except ConfigError:  # stored by another version
        return ""
    if not run.hardware:
        return ""
    machine = {"gpus": [], "tpus": [], **run.hardware}
    found = [
        _describe(change) for change in _changes(part, config) if _helps(config, change, machine)
    ]
    return f"Try {' or '.join(found)}." if found else ""


def _changes(part: str, config: RunConfig) -> list[dict[str, Any]]:
    larger_batch = {"batch_size": 2 * config.batch_size}
    match part:
        case "compute_seconds":
            more_devices = {"replicas": 2 * config.replicas, "strategy": "auto"}
            return [{"precision": "mixed_bfloat16"}, {"xla": True}, more_devices]
        case "reduce_seconds":
            return [larger_batch, {"replicas": config.replicas // 2}]
        case "input_seconds":
            return [larger_batch]
        case _:
            every = {name: getattr(config, name) for name in ("grid_every", "checkpoint_every")}
            return [{name: 2 * epochs} for name, epochs in every.items() if epochs < config.epochs]


def _helps(config: RunConfig, change: Mapping[str, Any], machine: dict[str, Any]) -> bool:
    settings = config.model_dump(mode="json")
    made_already = change.items() <= settings.items()
    if made_already or ("precision" in change and config.precision != "float32"):
        return False
    try:
        changed = parse({**settings, **change})
    except ConfigError:
        return False
    useless = capabilities.gainless(changed, machine) & change.keys()
    return not useless and capabilities.check(changed, machine) is None


def _describe(change: Mapping[str, Any]) -> str:
    name, value = next(iter(change.items()))
    return f"{name}={str(value).lower()}"
