"""The parts that hold measurements against estimates: memory and the time of a step, from which
calibrations follow."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from ganboard.db import calibrations, rehearsals
from ganboard.db.models import Calibration
from ganboard.gan.config import RunConfig, parse
from ganboard.gan.costs import estimate
from ganboard.gan.rehearsal import recognition, report
from ganboard.gan.settings import references, registry
from ganboard.worker.errors import ServiceFailed
from ganboard.worker.firstday.day import Day, Result
from ganboard.worker.formatting import duration, size
from ganboard.worker.process.json_child import TimeLimit

_MUCH_MORE = 1.5  # times the estimate
_OTHER_BATCH = 4  # of a replica


def memory(day: Day) -> Result:
    """The memory that the steps took, beside the rehearsal's or our own estimate."""
    rows, exceeded, missing = [], [], []
    for name in day.precisions():
        config = parse(day.settings(precision=name))
        try:
            found = day.steps(f"steps in {name}", name)
        except TimeLimit:
            missing.append(name)
            continue
        except ServiceFailed as error:
            rows.append((name, f"{error}", "-", "-", "-"))
            continue
        taken = found["memory_bytes"]
        expected, source = _expected(day, config)
        rows.append(
            (
                name,
                size(taken) if taken else "not said by this device",
                size(expected),
                f"{taken / expected:.2f}" if taken else "-",
                source,
            )
        )
        if taken and taken > _MUCH_MORE * expected:
            exceeded.append(name)
    whose = "the accelerator's peak" if day.accelerated else "the peak resident memory"
    how = f"Measured: {whose} of a process that takes the steps. The rehearsal counts arguments,"
    how += " temporaries, outputs and code of the compiled step; our own estimate is made before"
    how += " the start."
    columns = ("precision", "measured", "estimated", "ratio", "estimate by")
    if not rows:
        return Result("not done", "No precision was finished in time.", how, not_done=missing)
    if exceeded:
        text = f"More than {_MUCH_MORE:g} times the estimate in {', '.join(exceeded)}."
        return Result("warn", text, how, columns, rows, missing)
    return Result("ok", f"Measured in {len(rows)} precisions.", how, columns, rows, missing)


def step_time(day: Day) -> Result:
    """The time of a step beside the rehearsal's estimate; every factor is stored as soon as it is
    measured."""
    rows, missing, failed = [], [], []
    for model in (registry.usual(), *(() if day.options.quick else _others())):
        for name in day.precisions()[: None if model == registry.usual() else 2]:
            try:
                config, found = _steps(day, model, name)
            except TimeLimit:
                missing.append(f"{model} in {name}")
                continue
            except ServiceFailed as error:
                failed.append(f"{model} in {name}: {error}")
                continue
            rows.append(_calibrate(day, config, found))
    how = "Median over calls of about half a second after warm-up, host included. Factor: measured"
    how += " / rehearsal's estimate, which leaves out the host."
    columns = ("model", "precision", "batch", "measured", "images/s", "estimated", "factor")
    if failed:
        return Result("fail", "; ".join(failed) + ".", how, columns, rows, missing)
    if not rows:
        return Result("not done", "No training was measured in time.", how, not_done=missing)
    known = sum(row[-1] != "-" for row in rows)
    text = f"{len(rows)} step times measured, {known} of them with a rehearsal to compare with."
    if not known and day.target:
        text += f" Rehearse with --on {day.target.name} where the bundle is imported: the factors"
        text += " follow."
    return Result("ok", text, how, columns, rows, missing)


def _others() -> list[str]:
    return [name for name, model in registry.models().items() if model.spec.equivalence]


def _steps(day: Day, model: str, precision: str) -> tuple[RunConfig, dict[str, Any]]:
    """Raises ServiceFailed and TimeLimit."""
    what = f"{model} in {precision}"
    if model == registry.usual():
        return parse(day.settings(precision=precision)), day.steps(what, precision)
    batch = _OTHER_BATCH * max(1, day.cores)
    equivalence = registry.get(model).spec.equivalence
    assert equivalence is not None, "only such models are among the others"
    if equivalence.data:
        day.time_for(f"computing data for {model}")
        references.resolve(equivalence.data)(day.folder)
    config = parse(
        day.settings(
            **equivalence.settings,
            model=model,
            precision=precision,
            batch_size=batch,
            limit=8 * batch,
        )
    )
    return config, day.take(what, config, {"steps": 3, "seconds": 3.0}, data=day.folder)


def _calibrate(day: Day, config: RunConfig, found: Mapping[str, Any]) -> tuple[str, ...]:
    """Store a measured step time; returns its row."""
    target = day.target
    rehearsed = _rehearsed(day, config)
    seconds = found["step_seconds"]
    expected = rehearsed["step_seconds"] if rehearsed else None
    calibration = Calibration(
        machine=day.machine,
        target=target.name if target else recognition.CPU,
        key=report.key(config),
        family=target.family if target else recognition.CPU,
        model=config.model,
        precision=config.precision,
        device=str(day.hardware["devices"])[:200],
        measured_seconds=seconds,
        estimated_seconds=expected,
        measured_at=datetime.now(UTC),
        facts={
            "batch_size": config.batch_size,
            "replicas": config.replicas,
            "steps": found["timed_steps"],
            "memory_bytes": found["memory_bytes"],
            "memory_of": found["memory_of"],
            "compile_seconds": round(found["compile_seconds"], 2),
            "tensorflow": day.hardware["versions"].get("tensorflow", ""),
        },
    )
    if target or not day.accelerated:
        day.calibrations.append(calibration)
        calibrations.store(day.context.engine, [calibration.model_copy()])
    return (
        config.model,
        config.precision,
        f"{config.batch_size}",
        duration(seconds),
        f"{config.batch_size / seconds:,.0f}",
        duration(expected),
        f"{seconds / expected:.2f}" if expected else "-",
    )


def _expected(day: Day, config: RunConfig) -> tuple[int, str]:
    """Bytes that the step should take, and who says so."""
    if rehearsed := _rehearsed(day, config):
        return int(rehearsed["memory"]["total"]), "rehearsal"
    on_gpu = estimate.on_gpu(config, day.hardware)
    return estimate.estimate(config, on_gpu=on_gpu), "ganboard, before the start"


def _rehearsed(day: Day, config: RunConfig) -> dict[str, Any] | None:
    """The stored rehearsal of this configuration on this machine's target."""
    if day.target is None:
        return None
    for found in rehearsals.of(day.context.engine, report.key(config)):
        if found["target"] == day.target.name and found["form"] == "step" and found["compiles"]:
            return found
    return None
