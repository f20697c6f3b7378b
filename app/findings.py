"""What a person should know about the state of this installation, in words, each with its remedy."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from typing import Literal

from app import text
from db import queries
from db.models import ACTIVE
from worker.context import Context
from worker.errors import QueueUnreachable

LOW_DISK_BYTES = 2 << 30
LONG_WAIT_SECONDS = 60.0


@dataclass(frozen=True)
class Finding:
    """One sentence that names what was seen and what to do about it."""

    level: Literal["error", "warning"]
    sentence: str


def queue_problem(context: Context) -> str | None:
    """Why Redis does not answer; None if it does."""
    try:
        context.redis().close()
    except QueueUnreachable as error:
        return str(error)
    return None


def collect(context: Context, workers: list[queries.WorkerState], queue: str | None) -> list[Finding]:
    """Everything that is wrong or soon will be, the worst first."""
    found = []
    alive = [state for state in workers if state.alive]
    waiting = queries.waiting_runs(context.engine)
    if queue:
        found.append(Finding("error", f"{queue} New runs are stored all the same and start as soon as it does."))
    if not alive:
        waits = f"{text.plural(len(waiting), 'run')} in the queue, and no" if waiting else "No"
        found.append(Finding("error", f"{waits} worker is alive: `ganboard up` or `ganboard worker` starts one."))
    for state in workers:
        if not state.alive:
            found.append(
                Finding(
                    "warning",
                    f"Worker {state.worker.name} gave its last sign of life {text.ago(state.age_seconds)}: restart it if it should work.",
                )
            )
        elif not state.worker.devices:
            found.append(
                Finding("warning", f"Worker {state.worker.name} has not described its machine yet: it does within a minute of its start.")
            )
    ripe = queries.waiting_runs(context.engine, for_seconds=LONG_WAIT_SECONDS)
    if ripe and any(state.worker.run_id is None for state in alive):
        found.append(
            Finding(
                "warning",
                f"{text.plural(len(ripe), 'run')} waited over a minute while a worker is free: restart the worker if this stays.",
            )
        )
    free = shutil.disk_usage(context.settings.state).free
    if free < LOW_DISK_BYTES:
        found.append(
            Finding(
                "warning",
                f"Only {text.size(free)} are free for {context.settings.state}: delete runs, or set GANBOARD_HOME to a larger disk.",
            )
        )
    versions = {str(state.worker.devices["versions"].get("tensorflow")) for state in alive if state.worker.devices}
    if len(versions) > 1:
        found.append(
            Finding(
                "warning",
                f"The workers have different TensorFlow versions ({', '.join(sorted(versions))}): equal runs may differ.",
            )
        )
    return sorted(found, key=lambda finding: finding.level != "error")


def busy(context: Context) -> int:
    """Runs that a worker holds now."""
    return queries.count_runs(context.engine, statuses=ACTIVE)
