"""What a scheduler of a cluster has to offer: jobs of N tasks on N machines that start together."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Protocol

from ganboard.db.models import Run
from ganboard.worker.context import Context


class SchedulerAway(Exception):
    """The scheduler does not answer now; the message is what was seen."""


class SchedulerRefused(Exception):
    """The scheduler will never take this job; the message is its own."""


@dataclass(frozen=True)
class JobState:
    """A job, in the words of its scheduler."""

    state: str
    reason: str = ""
    ended: bool = False
    cancelled: bool = False  # by a person


class Scheduler(Protocol):
    """A scheduler that this machine can use. Its methods raise SchedulerAway."""

    name: str  # the value of the setting placement
    title: str

    def submit(self, context: Context, run: Run) -> str:
        """Submit a job that starts `worker.schedulers.node` on each machine of a run; its id.
        Raises SchedulerRefused."""

    def find(self, run: Run) -> str | None:
        """The id of a job of this run that is not over; None if there is none."""

    def states(self, job_ids: Collection[str]) -> Mapping[str, JobState]:
        """What became of these jobs; those that it no longer knows are left out."""

    def cancel(self, job_id: str) -> None:
        """Cancel a job; harmless for one that has ended."""
