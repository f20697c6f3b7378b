"""What answers about claims contain."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal

from pydantic import Field

from ganboard.db.models import CLAIM_STATES
from ganboard.worker.api.answers import Answered, Figure

Status = Literal[CLAIM_STATES]  # type: ignore[valid-type]  # a tuple, as Literal takes it


class ClaimPlan(Answered):
    """What testing a claim may take."""

    statement: str = Field(description="As it would be stored.")
    title: str
    runs: int = Field(description="At most.")
    cost: str
    evaluation: str


class ClaimSummary(Answered):
    """A claim about two configurations."""

    id: str = Field(description="Also the `sweep` of its runs.")
    statement: str
    title: str = Field(description="Treatment against control.")
    status: Status
    reasons: list[str] = Field(description="Why it is invalid.")
    ended_pairs: int = Field(description="Also those that do not count.")
    planned_pairs: int = Field(description="At most.")
    owner: str
    created_at: datetime
    ended_at: datetime | None


class Interval(Answered):
    """The mean effect after so many pairs, with its confidence limits; null: infinite."""

    pairs: int
    mean: Figure
    low: Figure
    high: Figure


class ConditionState(Answered):
    """A condition of a claim, and what the pairs say about it."""

    text: str
    effect: str
    holds: list[Figure] = Field(description="From and to; null: without limit.")
    status: Literal["supported", "refuted", "undecided"]
    sentence: str = Field(description="The latest estimate in words.")
    effects: list[Figure] = Field(description="Of each pair that counts.")
    intervals: list[Interval]
    needed_pairs: int | None = Field(description="About so many for a verdict; null: not known.")


class ClaimRun(Answered):
    """A run of a claim."""

    pair: int
    arm: Literal["treatment", "control"]
    run: str
    status: str | None = Field(description="Null: it was deleted.")


class ClaimState(ClaimSummary):
    """A claim with its verdict and evidence."""

    headline: str = Field(description="The verdict in a sentence or two.")
    conditions: list[ConditionState]
    caveats: list[str]
    pairs: list[dict[str, Any]] = Field(
        description="The evidence: seed, order, runs, values of each condition as [control,"
        " treatment], why a pair does not count, remarks."
    )
    runs: list[ClaimRun]
    warning: str | None = Field(description="Why nothing happens although it is open.")
    confidence: float
    power: float
    hours: Figure
    treatment: dict[str, Any]
    control: dict[str, Any]
    machine: dict[str, Any] | None = Field(description="Of the first run.")
    command: str = Field(description="States the same claim again.")
