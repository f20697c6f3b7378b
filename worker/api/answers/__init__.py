"""What answers contain."""

from __future__ import annotations

import math
from datetime import datetime
from typing import Annotated, Any, Generic, Literal, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

Row = TypeVar("Row")
# JSON has no NaN and no infinity
Figure = Annotated[
    float | None,
    BeforeValidator(lambda value: None if value is None or not math.isfinite(value) else value),
]


class Error(BaseModel):
    """Why a request was not answered."""

    error: str = Field(description="One sentence with the value, the limit and the remedy.")


class Answered(BaseModel):
    """An answer; fields may be added to it in any version."""

    model_config = ConfigDict(from_attributes=True)


class Page(Answered, Generic[Row]):
    """A part of a list."""

    items: list[Row]
    next: str | None = Field(description="The cursor of the next page; null on the last.")


class RunSummary(Answered):
    """A run without its epochs."""

    id: str
    name: str
    status: str
    preset: str
    parent_id: str | None = Field(description="The run that it was cloned or forked from.")
    sweep: str | None
    owner: str
    priority: int
    tags: list[str]
    note: str | None
    note_version: int
    config: dict[str, Any]
    created_at: datetime
    started_at: datetime | None
    ended_at: datetime | None
    archived_at: datetime | None
    deleted_at: datetime | None
    attempt: int
    phase: str | None
    error: str | None
    external: bool = Field(description="A script trains it, not ganboard.")
    epoch: int = Field(description="Finished epochs.")
    step: int = Field(description="Finished steps.")
    steps_per_epoch: int | None
    seconds: Figure = Field(description="Training time so far, in seconds, without compilation.")
    images_per_second: Figure
    g_loss: Figure = Field(description="Generator loss, mean of the last epoch.")
    d_loss: Figure = Field(description="Discriminator loss, mean of the last epoch.")


class EpochRow(Answered):
    """A finished epoch."""

    epoch: int
    finished_at: datetime
    steps: int
    images: int
    seconds: Figure = Field(description="Training time in seconds, without compilation.")
    compile_seconds: Figure
    g_loss: Figure
    d_loss: Figure


class QualityRow(Answered):
    """An evaluation of a checkpoint."""

    epoch: int
    made_at: datetime
    measures: dict[str, Figure] = Field(description="Values of metrics by name, such as fid.")


class RunDetail(RunSummary):
    """A run with its epochs and evaluations."""

    hardware: dict[str, Any] | None
    facts: dict[str, Any]
    epochs: list[EpochRow]
    quality: list[QualityRow]


class RunEvent(Answered):
    """An entry of a run's log of events."""

    id: int
    at: datetime
    attempt: int
    level: str
    text: str


class Swept(Answered):
    """The runs of a sweep that was queued."""

    sweep: str
    runs: list[RunSummary]


class MetricName(Answered):
    """A stored metric of a run."""

    metric: str
    stored: str = Field(description="How often there is a value: per step, epoch, ...")
    meaning: str


class Curve(Answered):
    """The values of a metric, or of an expression of metrics."""

    metric: str
    step: list[float]
    x: list[Any]
    y: list[Figure]
    notes: list[str]


class Finding(Answered):
    """Something that stands out in the course of a run."""

    kind: str
    title: str
    first: float
    last: float
    evidence: str
    advice: str
    remedy: dict[str, Any]


class Explanation(Answered):
    """What stands out, and what was checked."""

    findings: list[Finding]
    checked: list[str]


class ComparedRun(Answered):
    """A row of a comparison."""

    id: str
    name: str
    status: str
    baseline: bool
    epochs: int
    training_seconds: Figure
    median_epoch_seconds: Figure
    median_images_per_second: Figure
    g_loss: Figure
    d_loss: Figure
    best: Figure = Field(description="The lowest value of `metric`; null if its features differ.")
    settings: dict[str, Any] = Field(description="The settings in which the runs differ.")


class Comparison(Answered):
    """Runs side by side, and the sentences that the page Compare says."""

    metric: str = Field(description="The main metric of the baseline's model.")
    verdict: str
    each: list[str]
    caveats: list[str]
    runs: list[ComparedRun]


class RankedRun(Answered):
    """A run of a ranking."""

    id: str
    name: str
    value: Figure = Field(description="The best that an evaluation found.")
    status: str
    epoch: int
    training_seconds: Figure


class Ranking(Answered):
    """Runs of one model on one data set that were evaluated alike, the best first."""

    model: str
    data: str
    evaluated_by: str
    metric: str
    better: str
    runs: list[RankedRun]


class Answer(Answered):
    """A request to an analysis worker: an evaluation, a registration, a quantization, a network
    as a file."""

    id: str
    kind: str
    run_id: str
    state: Literal["waiting", "computing", "done", "failed"]
    phase: str
    progress: float = Field(description="From 0 to 1.")
    error: str | None
    facts: dict[str, Any] = Field(description="What was found, such as the new version's id.")


class Version(Answered):
    """A version of a model."""

    id: str
    name: str
    version: int
    run_id: str
    epoch: int
    step: int
    variant: str = Field(description="How the weights are stored: float32, float16 or int8.")
    parent_id: str | None = Field(description="The version that was quantized.")
    size: int = Field(description="Bytes.")
    created_at: datetime
    aliases: list[str]
    quality: dict[str, Figure]
    standing: str = Field(description="Its quality among the others, in words.")


class MachineRow(Answered):
    """A machine whose workers share the queue."""

    name: str
    state: str
    labels: list[str]
    devices: dict[str, Any]
    workers: list[str]
    trains: list[str] = Field(description="Ids of runs.")


class TokenRow(Answered):
    """A token, without its text."""

    id: str
    name: str
    owner: str
    scope: str
    created_at: datetime
    expires_at: datetime
    used_at: datetime | None


class AuditRow(Answered):
    """An entry of the audit log."""

    id: int
    at: datetime
    who: str
    token_id: str | None
    action: str
    status: int


class Me(Answered):
    """Who calls, and what they may do."""

    who: str
    scope: str
    token_id: str | None
