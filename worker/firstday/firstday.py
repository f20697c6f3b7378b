"""`ganboard firstday`: everything that is worth checking on a device that is new to ganboard, in
order, within a time. What a part found is kept when a later one fails."""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import orjson
from filelock import FileLock, Timeout

from ganboard.gan.config import ConfigError
from ganboard.gan.devices.hardware import devices
from ganboard.gan.files import whole_file
from ganboard.worker.context import Context
from ganboard.worker.doctor import accelerator
from ganboard.worker.errors import AlreadyRunning, ServiceFailed
from ganboard.worker.firstday import comparison, measured, numerics, small_study
from ganboard.worker.firstday.day import Day, Options, Part, Result, Watcher
from ganboard.worker.process import json_child, machine
from ganboard.worker.process.json_child import TimeLimit

VERSION = 1
MIN_MINUTES, MAX_MINUTES = 1.0, 240.0
SPARE_BYTES = 500_000_000  # of disk: checkpoints of small trainings, runs, the bundle
KEPT = "firstday.json"  # in HOME: the newest results, also of a day that was cut off
_HARDWARE = ("-m", "ganboard.gan.devices.hardware")

PARTS = (
    Part("placement", "Placement of a step", numerics.placement, 0, 0.25),
    Part("precision", "Precisions", numerics.precision, 10, 0.3),
    Part("replicas", "One against n replicas", numerics.replicas, 15, 0.2),
    Part("resume", "Killed and resumed", numerics.resume, 20, 0.2),
    Part("memory", "Memory", measured.memory, 0, 0.1),
    Part("step time", "Time of a step", measured.step_time, 0, 0.25),
    Part("bench", "Benchmark", comparison.bench, 60, 0.3, quick=False),
    Part("study", "Small study", small_study.study, 45, 1.0, quick=False),
)


def run(
    context: Context, options: Options, watcher: Watcher, parts: Sequence[Part] = PARTS
) -> dict[str, Any]:
    """All parts as far as the time goes; returns the document of the day.

    Raises ConfigError, AlreadyRunning and ServiceFailed before anything is measured.
    """
    check(options)
    began, wall = time.monotonic(), datetime.now(UTC)
    with (
        _alone(context),
        tempfile.TemporaryDirectory(dir=context.settings.state, prefix="firstday-") as folder,
    ):
        _check_disk(context)
        watcher.doing("machine", "asking TensorFlow for its devices", options.minutes * 60)
        day = Day(
            context,
            options,
            machine.name(context.settings),
            _hardware(),
            Path(folder),
            began + options.minutes * 60,
            watcher,
        )
        results: list[Result] = []
        interrupted = False
        for part in parts:
            results.append(_part(day, part, interrupted=interrupted))
            interrupted = interrupted or results[-1].text == _INTERRUPTED
            watcher.done(results[-1])
            found = document(day, results, wall, time.monotonic() - began)
            _keep(context, found)
    return found


_INTERRUPTED = "Interrupted."


def check(options: Options) -> None:
    """Raises ConfigError."""
    if not MIN_MINUTES <= options.minutes <= MAX_MINUTES:
        raise ConfigError(
            f"--minutes {options.minutes:g} is invalid: it must be from {MIN_MINUTES:g} to"
            f" {MAX_MINUTES:g}."
        )


def document(
    day: Day, results: Sequence[Result], began: datetime, seconds: float
) -> dict[str, Any]:
    """Everything that was found, JSON-ready."""
    return {
        "version": VERSION,
        "began": began.isoformat(timespec="seconds"),
        "seconds": round(seconds, 1),
        "minutes": day.options.minutes,
        "quick": day.options.quick,
        "ok": all(result.status != "fail" for result in results),
        "machine": day.machine,
        "hardware": dict(day.hardware),
        "target": day.target.name if day.target else None,
        "parts": [result.document() for result in results],
        "calibrations": [one.model_dump(mode="json") for one in day.calibrations],
        "runs": list(day.runs),
    }


def _part(day: Day, part: Part, *, interrupted: bool) -> Result:
    """One part, whatever becomes of it."""
    began = time.monotonic()
    total = day.options.minutes * 60
    left = day.ends - began
    day.part, day.part_ends = part.title, began + part.share * total
    if interrupted:
        found = Result("not done", "The day was interrupted before.")
    elif day.options.quick and not part.quick:
        found = Result("not done", "Left out by --quick.")
    elif left < part.needs or left <= 0:
        found = Result(
            "not done",
            f"{max(0, left):.0f} s were left, and it needs at least {part.needs:.0f} s: allow more"
            " with --minutes.",
        )
    else:
        try:
            found = part.run(day)
        except TimeLimit as error:
            found = Result("not done", f"Ended for lack of time: {error}.")
        except KeyboardInterrupt:
            found = Result("not done", _INTERRUPTED)
        except (ConfigError, ServiceFailed) as error:
            found = Result("fail", str(error))
        # a device that is new here may break anything, and the other parts still count
        except Exception as error:
            text = " ".join(str(error).split())[:300]
            found = Result("fail", f"{type(error).__name__}: {text}")
    seconds = round(time.monotonic() - began, 1)
    return replace(found, name=part.name, title=part.title, seconds=seconds)


def _hardware() -> dict[str, Any]:
    """As `gan.devices.hardware.describe`, with what computes and the packages of TensorFlow."""
    try:
        found = json_child.ask(_HARDWARE, accelerator.LIMIT_SECONDS)
    except ServiceFailed as error:
        raise ServiceFailed(
            f"TensorFlow cannot be started ({error}). Run `ganboard doctor --accelerator`."
        ) from None
    seen = accelerator.look()
    libraries = {**seen.packages, **({"libtpu": seen.libtpu} if seen.libtpu else {})}
    drivers = {"nvidia-driver": seen.nvidia[0][2]} if seen.nvidia else {}
    remedy = accelerator.install(seen, {})
    unused = remedy if not (found["gpus"] or found["tpus"]) else ""
    return {
        **found,
        "versions": {**found["versions"], **libraries, **drivers},
        "devices": devices(found),
        "unused": unused,
    }


@contextmanager
def _alone(context: Context) -> Iterator[None]:
    """Two days at once would measure each other. Raises AlreadyRunning."""
    home = context.settings.prepare_home()
    lock, owner = FileLock(home / "firstday.lock"), home / "firstday.pid"
    try:
        lock.acquire(timeout=0)
    except Timeout:
        who = owner.read_text(errors="replace").strip()[:20] if owner.is_file() else "unknown"
        raise AlreadyRunning(
            f"Another first day is running in {home} (process {who}): wait for it, or end it."
        ) from None
    try:
        owner.write_text(f"{os.getpid()}\n")
        yield
    finally:
        owner.unlink(missing_ok=True)
        lock.release()


def _check_disk(context: Context) -> None:
    free = shutil.disk_usage(context.settings.state).free
    if free < SPARE_BYTES:
        raise ServiceFailed(
            f"{context.settings.state} has {free / 1e9:.1f} GB free and a first day needs"
            f" {SPARE_BYTES / 1e9:.1f} GB: free some disk space, or set GANBOARD_HOME to another"
            " disk."
        )


def _keep(context: Context, found: dict[str, Any]) -> None:
    """So that a day that is cut off leaves its results; a full disk must not end it."""
    try:
        with whole_file(context.settings.state / KEPT) as file:
            file.write(orjson.dumps(found, option=orjson.OPT_INDENT_2))
    except OSError:
        return
