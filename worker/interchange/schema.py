"""What the JSON files of a bundle may hold: types, ranges and lengths.
`worker.interchange.importer` reads them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Self

from pydantic import BaseModel, ConfigDict, Field, FiniteFloat, create_model, model_validator

from ganboard.db.models import ENDED
from ganboard.db.placement.backlog import PRIORITIES
from ganboard.db.runs.external import MAX_BINS, MAX_NAME, MAX_STEP
from ganboard.gan.events import REAL_IMAGES
from ganboard.gan.quality.declared import METRICS
from ganboard.gan.settings.validation import Validation
from ganboard.worker.interchange.fields import (
    Count,
    Few,
    Hex,
    Instant,
    Map,
    Measures,
    Number,
    Scalar,
    Short,
    Word,
)
from ganboard.worker.interchange.rehearsed import ReportDocument

MAX_GRIDS = 20_000
MAX_FILES = MAX_GRIDS + 20


# name, kind, output shape, parameters, trainable parameters
LayerRow = tuple[Short, Short, Short, Count, Count]


class _Part(BaseModel):
    model_config = ConfigDict(extra="ignore", strict=False, defer_build=True)


class _Open(BaseModel):
    """Some fields have a type that pages rely on; others are welcome and plain."""

    model_config = ConfigDict(extra="allow")
    __pydantic_extra__: dict[str, Scalar | list[Scalar]]

    @model_validator(mode="before")
    @classmethod
    def _small(cls, given: Any) -> Any:
        if isinstance(given, dict) and (len(given) > 500 or any(len(name) > 80 for name in given)):
            raise ValueError(
                "it has more than 500 entries, or one whose name has more than 80 characters"
            )
        return given


class Hardware(_Open):
    """As `gan.devices.hardware.describe` gives it."""

    host: Short = ""
    cpu: Short = ""
    cores: Few | None = None
    memory_bytes: Count | None = None
    cpu_flags: list[Short] = []
    gpus: Annotated[list[dict[Short, Scalar]], Field(max_length=4096)] = []
    tpus: Annotated[list[Short], Field(max_length=65_536)] = []
    tpu_chips: dict[Short, Scalar] = {}
    versions: Annotated[dict[Short, Short], Field(max_length=100)] = {}


class _Facts(_Open):
    """As `gan.events.FACTS` names them."""

    off_accelerator: list[Short] = []
    class_shares: list[float] = []
    classifier_accuracy: float = 0.0
    encoder_accuracy: float = 0.0
    quality_features: Short = ""
    generator_layers: list[Short] = []
    discriminator_layers: list[Short] = []
    generator_summary: Annotated[list[LayerRow], Field(max_length=2000)] = []
    discriminator_summary: Annotated[list[LayerRow], Field(max_length=2000)] = []
    validation: Validation | None = None


class EpochDocument(_Part):
    epoch: Annotated[int, Field(ge=1, le=100_000)]
    attempt: Few
    finished_at: Instant
    steps: Annotated[int, Field(ge=0, le=10_000_000)]
    images: Count
    g_loss_hex: Hex
    d_loss_hex: Hex
    seconds: float
    compile_seconds: float
    g_x: Number
    g_y: Number
    d_x: Number
    d_y: Number
    measures: Measures


class _EvaluationColumns(_Part):
    epoch: Annotated[int, Field(ge=0, le=100_000)]
    attempt: Few
    made_at: Instant
    seconds: float
    training_seconds: float
    preparation_seconds: Number = None
    histogram: Annotated[list[float], Field(max_length=1000)]


if TYPE_CHECKING:
    _Evaluation = _EvaluationColumns
else:  # with the metrics that the models declare; others are ignored
    _Evaluation = create_model(
        "_Evaluation", __base__=_EvaluationColumns, **dict.fromkeys(METRICS, (Number, None))
    )


class _Event(_Part):
    attempt: Few
    at: Instant
    level: Annotated[str, Field(pattern="^(info|warning|error)$")]
    text: Word


class _Grid(_Part):
    epoch: Annotated[int, Field(ge=REAL_IMAGES, le=10_000_000)]
    attempt: Few
    made_at: Instant
    rows: Annotated[int, Field(ge=1, le=64)]
    columns: Annotated[int, Field(ge=1, le=64)]

    @property
    def file(self) -> str:
        return f"grids/{'real' if self.epoch == REAL_IMAGES else f'epoch-{self.epoch:04d}'}.png"


class _Sample(_Part):
    at: Instant
    attempt: Few
    cpu_percent: float
    rss_bytes: float
    memory_percent: float
    gpu_percent: Number = None
    gpu_memory_bytes: Number = None


class _Usage(_Part):
    at: Instant
    name: Word
    attempt: Few
    pid: Count | None = None
    cpu_percent: Number = None
    rss_bytes: Number = None
    gpu_percent: Number = None
    gpu_memory_bytes: Number = None
    watts: Number = None
    note: Word | None = None


class HistogramDocument(_Part):
    name: Annotated[str, Field(min_length=1, max_length=MAX_NAME)]
    step: Annotated[int, Field(ge=0, le=MAX_STEP)]
    time: Annotated[float, Field(allow_inf_nan=False)]
    edges: Annotated[list[FiniteFloat], Field(min_length=2, max_length=MAX_BINS + 1)]
    counts: Annotated[list[FiniteFloat], Field(min_length=1, max_length=MAX_BINS)]

    @model_validator(mode="after")
    def _between_edges(self) -> Self:
        if len(self.edges) != len(self.counts) + 1 or self.edges != sorted(self.edges):
            raise ValueError("edges must ascend and be one more than counts")
        return self


class RunDocument(_Part):
    id: Annotated[str, Field(pattern="^[a-z0-9]{10}$")]
    name: Word
    status: Annotated[str, Field(pattern=f"^({'|'.join(ENDED)})$")]
    config: Map
    preset: Annotated[str, Field(max_length=40)] = ""
    note: Word | None = None
    owner: Short = ""  # as where it was exported
    priority: Annotated[int, Field(ge=PRIORITIES[0], le=PRIORITIES[1])] = 0
    created_at: Instant
    queued_at: Instant
    started_at: Instant | None = None
    ended_at: Instant | None = None
    attempt: Few
    error: Word | None = None
    hardware: Hardware | None = None
    examples: Count | None = None
    steps_per_epoch: Annotated[int, Field(ge=1, le=10_000_000)] | None = None
    g_parameters: Count | None = None
    d_parameters: Count | None = None
    epoch: Few
    step: Count
    seconds: Number
    g_loss_hex: Hex | None = None
    d_loss_hex: Hex | None = None
    images_per_second: Number = None
    facts: _Facts
    external: bool = False
    reports: Count = 0
    tags: Annotated[list[Word], Field(max_length=100)] = []
    epochs: Annotated[list[EpochDocument], Field(max_length=100_000)]
    quality: Annotated[list[_Evaluation], Field(max_length=100_000)] = []
    events: Annotated[list[_Event], Field(max_length=200_000)] = []
    grids: Annotated[list[_Grid], Field(max_length=MAX_GRIDS)] = []
    samples: Annotated[list[_Sample], Field(max_length=2_000_000)] = []
    usage: Annotated[list[_Usage], Field(max_length=2_000_000)] = []
    histograms: Annotated[list[HistogramDocument], Field(max_length=200_000)] = []
    rehearsals: Annotated[list[ReportDocument], Field(max_length=500)] = []


class Manifest(BaseModel):
    model_config = ConfigDict(extra="ignore")

    format: int
    files: Annotated[
        dict[str, Annotated[str, Field(pattern="^[0-9a-f]{64}$")]], Field(max_length=MAX_FILES)
    ]
