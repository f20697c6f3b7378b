"""What requests contain."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from ganboard.db.alerts import channels, rules
from ganboard.db.requests import MAX_RUNS
from ganboard.db.runs.annotations import TAGS_PER_RUN
from ganboard.gan import studies
from ganboard.gan.landscape.geometry import SurfaceRequest
from ganboard.worker.alerts.addresses import RECIPIENTS, SECURITIES
from ganboard.worker.alerts.configuration import MAX_MINUTES
from ganboard.worker.claims import stating
from ganboard.worker.claims.limits import FIRST_LOOK, MAX_PAIRS
from ganboard.worker.claims.statement import EXAMPLE
from ganboard.worker.searches import definition
from ganboard.worker.searches.objective import Kind as ObjectiveKind

# tuples, as Literal takes them
StudyName = Literal[studies.NAMES]  # type: ignore[valid-type]
ChannelKind = Literal[channels.KINDS]  # type: ignore[valid-type]
Security = Literal[SECURITIES]  # type: ignore[valid-type]
Event = Literal[rules.EVENTS]  # type: ignore[valid-type]
Runs = Annotated[int, Field(ge=1, le=definition.MAX_RUNS)]
Hours = Annotated[float, Field(gt=0, le=definition.MAX_HOURS, allow_inf_nan=False)]
Parallel = Annotated[int, Field(ge=1, le=definition.MAX_PARALLEL)]
Minutes = Annotated[int, Field(ge=1, le=MAX_MINUTES)]
Share = Annotated[float, Field(ge=0.5, le=0.999)]


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


class Study(Asked):
    """A built-in study, to be launched or gone on with."""

    name: StudyName
    budget: str = Field("paper-small", description="Its size: paper, paper-small or tiny.")
    settings: dict[str, Any] = Field({}, description="Changed in all its runs, by name.")
    seeds: int | None = Field(None, ge=1, le=50, description="Repetitions of each run.")


class Search(Asked):
    """A search over settings."""

    preset: str | None = None
    settings: dict[str, Any] = Field({}, description="Changed in all its runs, by name.")
    vary: dict[str, str | list[Any]] = Field(
        description="By setting: a range such as `1e-5..1e-3` (`:linear` or `:log` at its end), or"
        " values."
    )
    metric: str | None = Field(None, description="By default the main one of the model.")
    objective: ObjectiveKind = Field(
        "best", description="Of all evaluations, or the last; or seconds until `target`."
    )
    target: float | None = None
    sampler: Literal["tpe", "random"] = "tpe"
    pruner: Literal["none", "median", "halving"] = "none"
    seed: int = Field(0, ge=0, lt=2**31)
    runs: Runs = 20
    hours: Hours | None = Field(None, description="No run starts after so many of training.")
    parallel: Parallel = Field(1, description="Runs that wait or train at the same time.")
    name: str = Field("", description="What the names of the runs begin with.")


class SearchStop(Asked):
    """How a search ends early."""

    runs: bool = Field(False, description="Also stop its runs that train or wait.")


class SearchBudget(Asked):
    """How a search goes on. What is left out stays."""

    runs: Runs | None = None
    hours: Hours | None = Field(None, description="null: no limit.")
    parallel: Parallel | None = None

    def changes(self) -> dict[str, Any]:
        unlimited = {"hours": None} if "hours" in self.model_fields_set else {}
        return unlimited | self.model_dump(exclude_none=True)


class Claim(Asked):
    """A claim about two configurations."""

    statement: str = Field(
        max_length=300, description=f"What the treatment is, relative to the control: {EXAMPLE}."
    )
    preset: str | None = None
    settings: dict[str, Any] = Field(
        {}, description="Of the treatment, and of the control unless `against` has others."
    )
    against: dict[str, Any] = Field(description="What the control has instead.")
    pairs: int = Field(stating.DEFAULT_PAIRS, ge=FIRST_LOOK, le=MAX_PAIRS, description="At most.")
    hours: float | None = Field(
        None, gt=0, le=stating.MAX_HOURS, description="No pair starts after so many."
    )
    seed: int = Field(0, ge=0, lt=2**31, description="Of the first pair; the others count up.")
    confidence: Share = stating.DEFAULT_CONFIDENCE
    power: Share = Field(stating.DEFAULT_POWER, description="For planning.")


class Surface(SurfaceRequest):
    """A loss surface through the end of a run."""

    others: list[str] = Field(
        [], max_length=MAX_RUNS - 1, description="Runs whose paths are shown as well."
    )

    def without_others(self) -> SurfaceRequest:
        return SurfaceRequest.model_validate(self.model_dump(exclude={"others"}))


class Mail(Asked):
    """A mail server, and who gets mail from it."""

    host: str | None = None
    port: int | None = Field(None, ge=1, le=65535, description="By default the usual one.")
    security: Security | None = Field(None, description="starttls by default.")
    user: str | None = Field(None, description="Then `secret` is the password.")
    sender: str | None = None
    recipients: list[str] | None = Field(None, max_length=RECIPIENTS)


class Channel(Asked):
    """Where alerts are sent."""

    name: str
    kind: ChannelKind
    secret: str = Field("", description="Address of the webhook, or password; never shown again.")
    mail: Mail | None = Field(None, description="Of a channel for mail.")


class ChannelChange(Asked):
    """Changes of a channel. What is left out stays."""

    name: str | None = None
    secret: str | None = None
    mail: Mail | None = None
    enabled: bool | None = Field(None, description="False cancels what waits.")


class Rule(Asked):
    """What is sent to a channel: about what happens from now on."""

    channel: str = Field(description="Name or id.")
    event: Event
    condition: str = Field("", description="Of metric: a search, such as `fid<5`.")
    minutes: Minutes | None = Field(None, description="Of no_progress; 30 by default.")
    search: str = Field("", description="Only runs that this search finds.")


class RuleChange(Asked):
    """Changes of a rule. What is left out stays, unless the event changes."""

    channel: str | None = None
    event: Event | None = None
    condition: str | None = None
    minutes: Minutes | None = None
    search: str | None = None
    enabled: bool | None = Field(None, description="False cancels what waits.")
