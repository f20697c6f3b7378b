"""One benchmark from the request to the document: what is checked before, and measured on which
data and hardware."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import orjson

from ganboard.db.settings import Settings
from ganboard.gan import data
from ganboard.gan.config import ConfigError, RunConfig, parse, plan
from ganboard.gan.costs import estimate
from ganboard.gan.data import catalog, mnist
from ganboard.gan.settings import registry
from ganboard.worker.bench.candidates import Candidate, choose, model_of_peers, peers_find_gan
from ganboard.worker.bench.report import document
from ganboard.worker.bench.runner import Options, Watcher, run_benchmark
from ganboard.worker.errors import ServiceFailed

MAX_ROUNDS, MAX_STEPS = 1000, 1_000_000
EPOCH_STEPS = 40  # of our trainer on a CPU, where all of MNIST takes minutes
OPTIONS = {"model": "--model", "batch_size": "--batch", "precision": "--precision"}


def bench(settings: Settings, options: Options, watcher: Watcher) -> dict[str, Any]:
    """Measure; returns the document of `worker.bench.report`. Raises ConfigError, DatasetError and
    ServiceFailed."""
    if not 1 <= options.rounds <= MAX_ROUNDS:
        raise ConfigError(f"rounds={options.rounds} is invalid. It must be from 1 to {MAX_ROUNDS}.")
    if options.steps is not None and not 1 <= options.steps <= MAX_STEPS:
        raise ConfigError(f"steps={options.steps} is invalid. It must be from 1 to {MAX_STEPS}.")
    takes_images = options.model == model_of_peers()
    candidates = choose(options.only, options.precisions, options.model)
    _check_changes(options, candidates)
    base = _base(settings, options)
    # a batch that does not divide among replicas is refused before anything runs
    for candidate in candidates:
        parse({**base.model_dump(), **candidate.changes})
    available = catalog.count(base, settings.data)
    plan(base, available)
    hardware, began, whole = find_hardware(), datetime.now(UTC), base
    if not (hardware["gpus"] or hardware["tpus"]):
        base = base.model_copy(update={"limit": EPOCH_STEPS * base.batch_size})
    loaded = data.load(
        whole if takes_images else base, settings.data
    )  # a street that is absent is computed before anyone is timed
    # inside HOME, so that checkpoints go to the disk that real runs use
    with tempfile.TemporaryDirectory(dir=settings.prepare_home(), prefix="bench-") as folder:
        if takes_images:
            np.save(Path(folder, "images.npy"), loaded.images)
        peers_find_gan(Path(folder))
        with run_benchmark(settings, options, base, available, Path(folder)) as benchmark:
            results = benchmark.run(candidates, watcher)
    about = {
        "began": began.isoformat(timespec="seconds"),
        "seconds": round((datetime.now(UTC) - began).total_seconds(), 1),
        "model": options.model,
        "data": (
            loaded.source if takes_images else f"{_sized(base, options)} on dataset={base.dataset}."
        ),
        "batch": base.batch_size,
        "gflop_per_image": estimate.step_flop(base) / base.batch_size / 1e9,
        "rounds": options.rounds,
        "hardware": hardware,
    }
    return document(results, about)


def _base(settings: Settings, options: Options) -> RunConfig:
    """What our trainer trains: what the model's benchmark says, and where peers train too, MNIST
    if it is there or else digits."""
    usual = registry.get(options.model).spec.benchmark
    batch = usual.batch if options.batch is None else options.batch
    values = {"model": options.model, "batch_size": batch, **usual.settings}
    if options.model == model_of_peers():
        values["dataset"] = "mnist" if mnist.find("mnist", settings.data) else "digits"
    return parse({**values, **options.changes})


def _check_changes(options: Options, candidates: Sequence[Candidate]) -> None:
    """Refuse changed settings that have an option of their own, and those that a candidate would
    not follow."""
    for name, option in OPTIONS.items():
        if name in options.changes:
            raise ConfigError(
                f"--set {name}={options.changes[name]} cannot be used here: use {option}."
            )
    fixed = [
        c.name for c in candidates if c.module in registry.get(options.model).spec.benchmark.peers
    ]
    if options.changes and fixed and options.model == model_of_peers():
        raise ConfigError(
            f"--set changes our trainer alone, and {fixed[0]} has networks of its own: add --only"
            " ganboard, or leave --set out."
        )


def _sized(config: RunConfig, options: Options) -> str:
    """The model with the sizes that its benchmark is taken at."""
    sizes = {**registry.of(config).spec.benchmark.settings, **options.changes}
    return " at ".join([config.model, *(str(getattr(config, name)) for name in sizes)])


def find_hardware() -> dict[str, Any]:
    """`gan.devices.hardware.describe` in its own process, as TensorFlow must not be loaded in this
    one."""
    asked = subprocess.run(
        [sys.executable, "-m", "ganboard.gan.devices.hardware"], capture_output=True, text=True
    )
    if asked.returncode:
        last = (asked.stderr.strip().splitlines() or [f"exit code {asked.returncode}"])[-1]
        raise ServiceFailed(f"TensorFlow cannot be started ({last[:200]}). Run `ganboard doctor`.")
    described: dict[str, Any] = orjson.loads(asked.stdout.splitlines()[-1])
    return described
