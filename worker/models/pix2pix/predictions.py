"""Flows continued by a stored run: for `ganboard predict` and, through the analysis worker, for the
run's page."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ganboard.db.models import Run
from ganboard.gan import config as configs
from ganboard.gan.checkpoint import reader
from ganboard.gan.config import ConfigError
from ganboard.gan.models.pix2pix import source
from ganboard.gan.models.pix2pix.config import Config
from ganboard.gan.models.pix2pix.flow.frames import Frames
from ganboard.gan.models.pix2pix.prediction import prediction_request
from ganboard.gan.models.pix2pix.prediction.prediction_request import PredictionRequest
from ganboard.worker import placement
from ganboard.worker.artifacts import transfers
from ganboard.worker.context import Context
from ganboard.worker.models.pix2pix import output


def answer(
    context: Context,
    run: Run,
    options: Mapping[str, Any],
    on_progress: Callable[[str, float], None],
) -> tuple[bytes, dict[str, Any]]:
    """The picture and the metrics of a requested prediction; see `ModelSpec.analyses`."""
    planned = plan(context, run, prediction_request.parse(options))
    on_progress("warming", 0.0)
    facts, png = compute(planned, lambda done, total: on_progress("predicting", done / total))
    return png, facts


@dataclass(frozen=True)
class Plan:
    """A request that can be fulfilled."""

    run_id: str
    config: Config
    request: PredictionRequest
    frames: Frames
    chosen: list[int]  # sequences
    directory: Path  # of the checkpoints
    step: int  # of the newest


def plan(context: Context, run: Run, asked: PredictionRequest) -> Plan:
    """All that can be known before TensorFlow is loaded. Raises ConfigError, DatasetError and
    CheckpointError in one sentence."""
    config = configs.parse(run.config)
    if not isinstance(config, Config):
        raise ConfigError(
            f"Run {run.id} has model={config.model}, but only model=pix2pix predicts flows. Choose"
            " such a run."
        )
    frames = source.frames(config, context.settings.data)
    chosen = prediction_request.check(asked, config, frames)
    directory = transfers.ensure(context, run.id)
    if not (found := reader.complete(directory)):
        raise reader.CheckpointError(placement.absence(context, run))
    return Plan(run.id, config, asked, frames, chosen, directory, found[0][0])


def compute(planned: Plan, on_progress: Callable[[int, int], None]) -> tuple[dict[str, Any], bytes]:
    """All metrics in JSON-compatible form, and the picture (PNG); `on_progress` is called with
    predicted and total frames."""
    from ganboard.gan.models.pix2pix.prediction import prediction

    frames = planned.frames
    found, made = prediction.compute(
        planned.config,
        planned.directory,
        planned.step,
        frames,
        planned.chosen,
        planned.request,
        on_progress,
    )
    return {"run": planned.run_id, **found}, output.sheet(frames, found["flows"], made)
