"""What a script sends, over HTTP, into a file or straight to the database: types and ranges."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Base64Bytes, BaseModel, ConfigDict, Field, model_validator

from ganboard.db.runs.external import MAX_METRICS, MAX_STEP
from ganboard.worker.external.limits import MAX_NAME, MAX_PNG, MAX_POINTS, MAX_TEXT
from ganboard.worker.interchange.fields import Count, Few, Instant, Measures, Number, Scalar
from ganboard.worker.interchange.schema import Hardware, HistogramDocument

FORMAT = 1
Step = Annotated[int, Field(ge=0, le=MAX_STEP)]
Points = Annotated[list[float], Field(min_length=1, max_length=MAX_POINTS)]
Name = Annotated[str, Field(min_length=1, max_length=MAX_NAME)]
Text = Annotated[str, Field(max_length=MAX_TEXT)]
Level = Literal["info", "warning", "error"]


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid")


class Start(_Part):
    """A run that begins."""

    format: Literal[1]
    id: Annotated[str, Field(pattern="^[a-z0-9]{10}$")]
    name: Annotated[str, Field(min_length=1, max_length=80)]
    config: Annotated[dict[Name, Scalar], Field(max_length=500)]
    at: Instant
    steps_per_epoch: Annotated[int, Field(ge=1, le=MAX_STEP)] | None = None
    hardware: Hardware


class Values(_Part):
    """One metric, at any steps; JSON has no NaN, so what is not finite is a string."""

    steps: Annotated[list[Step], Field(min_length=1, max_length=MAX_POINTS)]
    times: Points  # seconds since 1970
    values: Points

    @model_validator(mode="after")
    def _as_many(self) -> Self:
        if not len(self.steps) == len(self.times) == len(self.values):
            raise ValueError("steps, times and values must be equally many")
        return self


class HistogramPart(HistogramDocument):
    """The spread of values of one name at one step."""

    model_config = ConfigDict(extra="forbid")


class EpochPart(_Part):
    epoch: Annotated[int, Field(ge=1, le=10_000_000)]
    at: Instant
    steps: Few
    images: Count
    seconds: Annotated[float, Field(ge=0, lt=1e9, allow_inf_nan=False)]
    g_loss: float  # NaN where the script has none
    d_loss: float
    measures: Measures = {}


class GridPart(_Part):
    epoch: Annotated[int, Field(ge=0, le=10_000_000)]
    at: Instant
    rows: Annotated[int, Field(ge=1, le=64)]
    columns: Annotated[int, Field(ge=1, le=64)]
    png: Annotated[Base64Bytes, Field(max_length=MAX_PNG)]


class SamplePart(_Part):
    at: Instant
    cpu_percent: float
    rss_bytes: float
    memory_percent: float
    gpu_percent: Number = None
    gpu_memory_bytes: Number = None


class EventPart(_Part):
    at: Instant
    level: Level
    text: Text


class LogPart(_Part):
    """Text of the log and where it begins, in bytes, so that a repeated one changes nothing."""

    offset: Count
    text: Annotated[str, Field(max_length=1 << 20)]


class EndPart(_Part):
    status: Literal["finished", "failed", "stopped"]
    error: Text | None = None
    at: Instant


class Report(_Part):
    """What happened since the report before; numbers count from 1."""

    number: Annotated[int, Field(ge=1, le=MAX_STEP)]
    seconds: Annotated[float, Field(ge=0, lt=1e9, allow_inf_nan=False)]  # since the start
    steps_per_epoch: Annotated[int, Field(ge=1, le=MAX_STEP)] | None = None
    logged: Annotated[dict[Name, Values], Field(max_length=MAX_METRICS)] = {}
    epochs: Annotated[list[EpochPart], Field(max_length=10_000)] = []
    histograms: Annotated[list[HistogramPart], Field(max_length=1000)] = []
    grids: Annotated[list[GridPart], Field(max_length=100)] = []
    samples: Annotated[list[SamplePart], Field(max_length=1000)] = []
    events: Annotated[list[EventPart], Field(max_length=1000)] = []
    log: LogPart | None = None
    end: EndPart | None = None


class Line(_Part):
    """A line of a file that was recorded offline."""

    start: Start | None = None
    report: Report | None = None
