"""Flows continued by a stored pix2pix run: for `ganboard predict` and, through
worker/requests/analysis.py, for the run's page."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ganboard.db.models import Run
from ganboard.gan import config as configs
from ganboard.gan.checkpoint import store
from ganboard.gan.config import ConfigError, RunConfig
from ganboard.gan.models.pix2pix import prediction_request, source
from ganboard.gan.models.pix2pix.frames import Frames
from ganboard.gan.models.pix2pix.prediction_request import PredictionRequest
from ganboard.worker import placement
from ganboard.worker.context import Context
from ganboard.worker.requests import prediction_output


@dataclass(frozen=True)
class Plan:
    """A request that can be fulfilled."""

    run_id: str
    config: RunConfig
    request: PredictionRequest
    frames: Frames
    chosen: list[int]  # sequences
    directory: Path  # of the checkpoints
    step: int  # of the newest


def plan(context: Context, run: Run, asked: PredictionRequest) -> Plan:
    """All that can be known before TensorFlow is loaded. Raises ConfigError, DatasetError and
    CheckpointError in one sentence."""
    config = configs.parse(run.config)
    if config.model != "pix2pix":
        raise ConfigError(
            f"Run {run.id} has model={config.model}, and only model=pix2pix predicts flows: name"
            " such a run."
        )
    frames = source.frames(config, context.settings.data)
    chosen = prediction_request.check(asked, config, frames)
    directory = context.settings.run_dir(run.id) / "checkpoints"
    if not (found := store.complete(directory)):
        raise store.CheckpointError(placement.absence(context, run))
    return Plan(run.id, config, asked, frames, chosen, directory, found[0][0])


def compute(planned: Plan, told: Callable[[int, int], None]) -> tuple[dict[str, Any], bytes]:
    """All figures, as JSON takes them, and the picture (PNG); `told` hears of frames predicted and
    frames in all."""
    from ganboard.gan.models.pix2pix import prediction

    frames = planned.frames
    found, made = prediction.compute(
        planned.config,
        planned.directory,
        planned.step,
        frames,
        planned.chosen,
        planned.request,
        told,
    )
    return {"run": planned.run_id, **found}, prediction_output.sheet(frames, found["flows"], made)
