"""What requests contain."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from ganboard.db.runs.annotations import TAGS_PER_RUN


class Asked(BaseModel):
    """A body; a misspelled field is an error."""

    model_config = ConfigDict(extra="forbid")


class Settings(Asked):
    """Settings that differ from a preset's or another run's."""

    settings: dict[str, Any] = Field({}, description="Changed settings, by name.")
    name: str | None = Field(None, description="Generated from the settings by default.")


class Launch(Settings):
    """A run to be queued."""

    preset: str | None = Field(None, description="Without one, the defaults of the settings.")
    priority: int = Field(0, ge=-100, le=100, description="Higher numbers start first.")
    tags: list[str] = Field([], max_length=TAGS_PER_RUN)


class Fork(Settings):
    """A run that continues another one from a checkpoint."""

    step: int | None = Field(None, ge=0, description="Of the checkpoint; by default the latest.")


class Sweep(Asked):
    """A grid of runs: all combinations of the values."""

    preset: str | None = None
    settings: dict[str, Any] = {}
    values: dict[str, list[Any]] = Field(description="Values to combine, by setting.")
    seeds: int = Field(1, ge=1, le=200, description="Runs of each combination.")
    name: str = Field("", description="What the names of the runs begin with.")


class Change(Asked):
    """What people add to a run. What is left out stays."""

    tags: list[str] | None = Field(None, max_length=TAGS_PER_RUN, description="Replaces all tags.")
    note: str | None = None
    note_version: int | None = Field(
        None, description="Of the note that is replaced, so that no other change is lost."
    )
    archived: bool | None = None
    priority: int | None = Field(None, ge=-100, le=100)


class Resume(Asked):
    """How a stopped or failed run goes on."""

    without: str | None = Field(None, description="A lost machine, whose checkpoints are given up.")


class Register(Asked):
    """A version of a model, made of a checkpoint."""

    name: str
    epoch: int | None = Field(None, ge=0, description="By default the newest checkpoint's.")


class WriteNetwork(Asked):
    """A network of a checkpoint as a file."""

    network: Literal["generator", "discriminator"]
    format: Literal["keras", "saved_model", "onnx"] = "keras"
    epoch: int | None = Field(None, ge=0, description="By default the newest checkpoint's.")
    weights: Literal["average", "training"] | None = Field(
        None, description="Of a generator; by default the average (ema) where there is one."
    )


class Quantize(Asked):
    """A version with weights in fewer bits."""

    to: Literal["float16", "int8"]
    limit: float | None = Field(None, ge=0, description="Loss of quality that is accepted, in %.")


class Alias(Asked):
    """A word that stands for one version of a model."""

    alias: str
