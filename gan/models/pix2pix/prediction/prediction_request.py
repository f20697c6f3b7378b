"""What is asked of a prediction, and whether it can be done. Free of TensorFlow."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from ganboard.gan.config import ConfigError
from ganboard.gan.data.dataset import DatasetError
from ganboard.gan.models.pix2pix.config import Config
from ganboard.gan.models.pix2pix.flow.frames import Frames
from ganboard.gan.models.pix2pix.prediction import rollout
from ganboard.gan.models.pix2pix.prediction.tiles import advance


class PredictionRequest(BaseModel):
    """How far to predict which flows (none: one of each kind), and how their frames go through the
    network."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    steps: Annotated[int, Field(ge=1, le=100_000)] = 100
    sequences: tuple[int, ...] = ()
    group: Annotated[int, Field(ge=0, le=65_536)] = 0  # tiles at a time, 0 for all
    replicas: Annotated[int, Field(ge=1, le=64)] = 1
    halo: Annotated[int, Field(ge=0, le=256)] = 0
    xla: bool = False


def parse(options: Mapping[str, Any]) -> PredictionRequest:
    """Raises ConfigError in one sentence."""
    try:
        return PredictionRequest.model_validate(dict(options))
    except ValidationError as error:
        first = error.errors()[0]
        name, given = first["loc"][0], str(first["input"])[:80]
        raise ConfigError(
            f"{name}={given} is invalid: {first['msg'][0].lower()}{first['msg'][1:]}."
        ) from None


def check(request: PredictionRequest, config: Config, frames: Frames) -> list[int]:
    """The sequences to predict. Raises DatasetError in one sentence."""
    manifest = frames.manifest
    nx, ny = manifest.grid
    advance(config, (ny, nx), request.halo)
    if request.steps > (most := manifest.frames - config.history):
        raise DatasetError(
            f"steps={request.steps} needs {request.steps + config.history} frames of a flow and"
            f" {frames.folder} holds {manifest.frames} of each: ask for {most} or fewer, or record"
            " more."
        )
    last = len(manifest.sequences) - 1
    for number in request.sequences:
        if not 0 <= number <= last:
            raise DatasetError(
                f"There is no sequence {number} in {frames.folder}: choose one of 0 to {last}."
            )
    return list(request.sequences) or rollout.choose(manifest)
