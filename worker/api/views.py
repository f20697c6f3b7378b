"""Rows of the database as the API answers them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ganboard.db.models import Request, Run
from ganboard.db.runs import annotations as run_annotations
from ganboard.db.runs import queries
from ganboard.worker.api import answers
from ganboard.worker.context import Context
from ganboard.worker.fleet import Machine


def find(context: Context, run: str, *, trash_too: bool = False) -> Run:
    """The run that an address names. Raises UnknownRun."""
    return queries.find_run(context.engine, run, trash_too=trash_too)


def summaries(context: Context, runs: Sequence[Run]) -> list[answers.RunSummary]:
    """Runs without their epochs."""
    tags = run_annotations.tags_of(context.engine, [run.id for run in runs])
    return [
        answers.RunSummary.model_validate(run.model_dump() | {"tags": tags[run.id]}) for run in runs
    ]


def summary(context: Context, run_id: str) -> answers.RunSummary:
    """A run as it is now, also in the trash. Raises UnknownRun."""
    return summaries(context, [find(context, run_id, trash_too=True)])[0]


def detail(context: Context, run: Run) -> answers.RunDetail:
    """A run with its epochs and evaluations."""
    engine = context.engine
    return answers.RunDetail.model_validate(
        summaries(context, [run])[0].model_dump()
        | {
            "hardware": run.hardware,
            "facts": run.facts,
            "epochs": queries.epochs(engine, run.id),
            "quality": queries.qualities(engine, run.id),
        }
    )


def request_values(request: Request) -> dict[str, Any]:
    """A request without its result, which may not have been read, and how far it is."""
    if request.answered_at is not None:
        state = "failed" if request.error is not None else "done"
    else:
        state = "waiting" if request.claimed_at is None else "computing"
    names = [name for name in type(request).model_fields if name != "result"]
    return {name: getattr(request, name) for name in names} | {"state": state}


def request_state(request: Request) -> answers.Answer:
    """How far a request is."""
    return answers.Answer.model_validate(request_values(request))


def machine(found: Machine) -> answers.MachineRow:
    """A machine and what it does."""
    return answers.MachineRow(
        name=found.name,
        state=found.state.lower(),
        labels=found.labels,
        devices=dict(found.devices),
        workers=[one.worker.name for one in found.workers if one.alive],
        trains=[run.id for run in found.trains],
    )
