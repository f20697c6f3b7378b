"""What answers about searches over settings contain."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal

from pydantic import Field

from ganboard.worker.api.answers import Answered, Figure

State = Literal["running", "stopped", "finished", "failed"]


class SearchPlan(Answered):
    """What a search would come to."""

    sentences: list[str] = Field(description="Objective, settings, budget and time, in words.")
    seconds: Figure = Field(description="Of all runs in sequence; null if not known.")
    seconds_low: Figure
    seconds_high: Figure
    refused_share: float = Field(description="Of combinations drawn at random: cannot run.")


class SearchSummary(Answered):
    """A search over settings without its trials."""

    id: str = Field(description="Also the `sweep` of its runs.")
    name: str
    preset: str
    state: State
    message: str | None = Field(description="Why it has ended, or cannot go on.")
    space: dict[str, Any] = Field(description="By setting: choices, or low, high, log, whole.")
    objective: dict[str, Any] = Field(description="Metric, kind (best, last, seconds), target.")
    sampler: str
    pruner: str
    seed: int
    runs: int = Field(description="The budget.")
    hours: Figure = Field(description="The budget of training; null: no limit.")
    parallel: int = Field(description="Runs at the same time.")
    owner: str
    created_at: datetime
    ended_at: datetime | None


class Trial(Answered):
    """A combination that a search has tried."""

    number: int
    run: str | None = Field(description="Null if it cannot run, or the run was deleted.")
    state: str = Field(description="The run's, or refused, deleted, reached (the target).")
    params: dict[str, Any]
    value: Figure = Field(description="The result of a finished run.")
    so_far: Figure = Field(description="What a run has reached so far.")
    pruned_epoch: int | None
    problem: str | None = Field(description="Why it cannot run.")


class Best(Answered):
    """The best result of a search."""

    trial: int
    run: str | None
    value: Figure
    params: dict[str, Any]


class SearchState(SearchSummary):
    """A search, how far it is, and what it has found."""

    settings: dict[str, Any] = Field(description="That all runs share.")
    label: str = Field(description="The objective in words.")
    better: Literal["lower", "higher"]
    method: str = Field(description="Sampler, pruner and seed in words.")
    submitted: int = Field(description="Runs that count towards the budget.")
    ended: int
    finished: int = Field(description="Runs that ended with a result.")
    hours_trained: float
    seconds_left: Figure
    warning: str | None = Field(description="Why nothing happens although it runs.")
    importance: dict[str, Any] = Field(
        description="The share of the variation of results that each setting explains; `trials`:"
        " from how many."
    )
    best: Best | None
    trials: list[Trial]
