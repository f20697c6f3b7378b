"""Evaluations of stored checkpoints: of runs that were trained without, on request. The results go
where those of training are."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from ganboard.db.models import ACTIVE, Run
from ganboard.db.runs import evaluations, queries
from ganboard.db.runs.imports import IMPORTED
from ganboard.gan import config as configs
from ganboard.gan.checkpoint import reader
from ganboard.gan.checkpoint.reader import CheckpointError
from ganboard.gan.config import ConfigError, RunConfig
from ganboard.gan.data import catalog
from ganboard.gan.data.dataset import DatasetError
from ganboard.gan.events import Found
from ganboard.gan.settings import features, registry
from ganboard.worker import placement
from ganboard.worker.artifacts import transfers
from ganboard.worker.context import Context

_XLA = "TF_XLA_FLAGS"  # by which `gan.devices.runtime.prepare` asks for XLA, in the whole process


def fits(xla: bool) -> bool:
    """Whether this process computes as a trainer with this setting of `xla` does. It is decided
    when TensorFlow is loaded."""
    return "tensorflow" not in sys.modules or ("auto_jit" in os.environ.get(_XLA, "")) == xla


def compute(
    context: Context, run_id: str, on_progress: Callable[[str, float], None]
) -> tuple[bytes, dict[str, Any]]:
    """Evaluate and store what `db.runs.evaluations.pending` names of a run; the facts name its
    `epochs`, none where all is evaluated. Raises errors in one sentence."""
    run = queries.find_run(context.engine, run_id)
    config, left = _checked(context, run)
    if not left:
        return b"", {"epochs": []}
    on_progress("warming", 0.0)
    from ganboard.gan.generation import evaluation

    settings = context.settings
    directory = transfers.ensure(context, run.id)
    epochs = []
    for found in evaluation.evaluate(
        config,
        lambda: _latest(directory, run, _left(context, run, directory)),
        examples=run.examples,
        directory=directory,
        data_dir=settings.data,
        cache_dir=settings.state / "quality",
        on_progress=on_progress,
    ):
        _check_features(context, run.id, found.facts)
        stored = evaluations.add(
            context.engine,
            run_id=run.id,
            attempt=run.attempt,
            facts=found.facts,
            **vars(found.quality),
        )
        if stored:
            epochs.append(found.quality.epoch)
    return b"", {"epochs": epochs}


def _checked(context: Context, run: Run) -> tuple[RunConfig, Sequence[Found]]:
    """The configuration, and the checkpoints to evaluate: all that can be known before TensorFlow
    is loaded. Raises ConfigError, DatasetError and CheckpointError in one sentence."""
    if run.external:
        raise ConfigError(
            f"Run {run.id} is trained by a script, which keeps its networks: log its metrics there."
        )
    if missing := registry.missing(run.config):
        raise ConfigError(missing)
    config = configs.parse(run.config)
    if not registry.of(config).spec.metrics:
        raise ConfigError(f"model={config.model} of run {run.id} declares no metric of quality.")
    registry.check_source(config, run.facts, run.id)
    if run.status in ACTIVE and config.quality_every:
        raise ConfigError(
            f"Run {run.id} is training and is evaluated every {config.quality_every} epochs and"
            " after the last one (quality_every)."
        )
    directory = transfers.ensure(context, run.id)
    if not _ended_epochs(directory, run):
        raise CheckpointError(_absence(context, run, directory))
    if absent := catalog.available(context.settings.data).get(config.dataset):
        raise DatasetError(absent)  # a request is no reason to download
    catalog.check(config, context.settings.data)
    return config, _left(context, run, directory)


def _ended_epochs(directory: Path, run: Run) -> list[Found]:
    """The complete checkpoints of epochs that have ended, the oldest first."""
    steps = run.steps_per_epoch or 0
    ended = [one for one in reader.found(directory) if one.step == one.epoch * steps > 0]
    return list({one.epoch: one for one in ended[::-1]}.values())


def _left(context: Context, run: Run, directory: Path) -> list[Found]:
    """Those later than the last evaluation."""
    last = evaluations.last_epochs(context.engine, [run.id]).get(run.id, 0)
    return [one for one in _ended_epochs(directory, run) if one.epoch > last]


def _latest(directory: Path, run: Run, left: list[Found]) -> list[Found]:
    """All of them, or the latest of a run that trains: the others are about to be deleted."""
    return left[-1:] if run.status in ACTIVE else left


def _absence(context: Context, run: Run, directory: Path) -> str:
    """Why a run has no checkpoint that can be evaluated."""
    if IMPORTED in run.facts:
        return (
            f"Run {run.id} was imported, and its checkpoints are on another machine: evaluate it"
            " there, or train a clone here."
        )
    if not run.epoch:
        return f"Run {run.id} has not finished an epoch yet. Evaluate it when it has."
    if left := reader.found(directory):
        return (
            f"The checkpoints of run {run.id} lie within epochs (the latest after step"
            f" {left[0].step:,}), and evaluations belong to the ends of epochs. Resume the run."
        )
    if placement.newest_elsewhere(context, run):
        return placement.absence(context, run)
    return (
        f"The checkpoints of run {run.id} no longer exist. Train a clone with quality_every="
        f"{run.config.get('epochs', 1)} to evaluate it."
    )


def _check_features(context: Context, run_id: str, facts: dict[str, Any]) -> None:
    """Raises ConfigError where the run has evaluations by other features: its numbers would not be
    of one kind."""
    if features.FACT not in facts or not evaluations.last_epochs(context.engine, [run_id]):
        return
    before = queries.find_run(context.engine, run_id).facts  # with those of its last checkpoint
    sources = [features.recorded(before), features.recorded(facts)]
    if sentence := features.conflict("Quality", sources):
        raise ConfigError(f"Run {run_id} was evaluated by other features before. {sentence}")
