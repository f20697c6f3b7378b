"""What answers about studies contain."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal

from pydantic import Field

from ganboard.worker.api.answers import Answer, Answered, Figure, RunSummary


class StudyBudget(Answered):
    """A size of a study."""

    name: str
    about: str


class BuiltInStudy(Answered):
    """A study that ganboard brings along."""

    name: str
    title: str
    purpose: str
    budgets: list[StudyBudget]


class PlannedRun(Answered):
    """A run that a study needs."""

    name: str
    parts: list[str]
    run: str | None = Field(description="The finished run that is used again; null: to train.")
    seconds: Figure = Field(description="Estimated; null if nothing similar was measured.")


class StudyPlan(Answered):
    """What launching a study would come to."""

    to_train: int
    seconds: Figure = Field(description="Of the runs to train, in sequence, as far as is known.")
    unknown: int = Field(description="Runs to train whose time is not known.")
    runs: list[PlannedRun]


class StudySummary(Answered):
    """A study that was launched."""

    id: str
    name: str
    title: str
    created_at: datetime
    runs: dict[str, int] = Field(description="How many runs are in each state.")


class StudyState(StudySummary):
    """A study, and how far it is."""

    definition: dict[str, Any] = Field(description="Purpose, settings, parts, seeds, figures.")
    finished: int
    broken: int = Field(description="Runs that were stopped or failed.")
    over: bool = Field(description="Whether all runs have ended.")
    done: float = Field(description="From 0 to 1, by steps.")
    seconds_left: Figure = Field(description="Of one worker; null if not known.")
    training: list[str] = Field(description="Ids of the runs that train.")
    surface: Answer | None = Field(description="The loss surface of Fig. 11, if it has one.")


class LaunchedStudy(StudyState):
    """A study that was launched, or gone on with."""

    queued: list[str] = Field(description="Ids of the runs that were queued now.")


class StudyRun(RunSummary):
    """A run of a study."""

    parts: list[str] = Field(description="The parts of the study that count it.")


class Table(Answered):
    """The numbers of a figure."""

    columns: list[str]
    rows: list[list[Any]]


class Predicted(Answered):
    """What a claim would come to on its own machine: predicted, never measured."""

    machine: str
    verdict: str
    finding: str
    table: list[dict[str, Any]]


class StudyResult(Answered):
    """A figure or table of a study: what was found, beside the published claim."""

    key: str
    title: str
    claim: str = Field(description="As published.")
    verdict: Literal[
        "reproduced", "not reproduced here", "cannot be tested here", "too little data"
    ]
    missing: str = Field(description="What a verdict needs, and what there is.")
    finding: str
    how: str = Field(description="How the values were obtained.")
    table: Table
    predicted: Predicted | None


class PublishedDocument(Answered):
    """Where published numbers come from."""

    key: str
    short: str
    title: str
    where: str
    system: str


class PublishedNumber(Answered):
    """A number of others, on their hardware."""

    document: str = Field(description="The key of its document.")
    device: str
    devices: int
    batch: int | None = Field(description="Images over all devices.")
    value: float
    unit: str
    baseline: str
    note: str


class Published(Answered):
    """Published results; not measured here."""

    documents: list[PublishedDocument]
    numbers: list[PublishedNumber]
