"""What the JSON files of a first day's bundle may hold; `worker.firstday.importing` reads them."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from ganboard.gan.settings import registry
from ganboard.worker.firstday.day import PRECISIONS
from ganboard.worker.interchange.fields import Instant, Scalar, Short
from ganboard.worker.interchange.schema import Hardware

MAX_FILES = 300
Seconds = Annotated[float, Field(gt=0, lt=1e6, allow_inf_nan=False)]
Word = Annotated[str, Field(pattern=r"^[\w.-]{1,40}$")]
_MODELS = "|".join(registry.models())
_PRECISIONS = "|".join(PRECISIONS)


class _Part(BaseModel):
    model_config = ConfigDict(extra="ignore")


class CalibrationDocument(_Part):
    target: Word
    key: Annotated[str, Field(pattern="^[0-9a-f]{32}$")]
    family: Word
    model: Annotated[str, Field(pattern=f"^({_MODELS})$")]
    precision: Annotated[str, Field(pattern=f"^({_PRECISIONS})$")]
    device: Short
    measured_seconds: Seconds
    estimated_seconds: Seconds | None = None
    measured_at: Instant
    facts: Annotated[dict[Word, Scalar], Field(max_length=50)] = {}


class MachineDocument(_Part):
    """machine.json."""

    version: Literal[1]
    machine: Annotated[str, Field(min_length=1, max_length=200)]
    hardware: Hardware
    calibrations: Annotated[list[CalibrationDocument], Field(max_length=200)]


class DayManifest(_Part):
    """manifest.json."""

    format: int
    kind: Literal["firstday"]
    files: Annotated[
        dict[str, Annotated[str, Field(pattern="^[0-9a-f]{64}$")]], Field(max_length=MAX_FILES)
    ]
