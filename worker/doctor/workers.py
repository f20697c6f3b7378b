"""Who trains: workers by the database, and what waits for them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from ganboard.db import heartbeats
from ganboard.db.heartbeats import WorkerState
from ganboard.db.models import WAITING
from ganboard.db.placement import backlog
from ganboard.db.runs import holders, queries
from ganboard.worker.context import Context
from ganboard.worker.doctor.check import Check
from ganboard.worker.formatting import plural
from ganboard.worker.placement import waiting

LONG_WAIT_SECONDS = 60.0  # in the queue, while a worker is free


def workers(context: Context) -> Iterator[Check]:
    engine = context.engine
    known = heartbeats.workers(engine)
    alive = [state for state in known if state.alive]
    if alive:
        yield Check(
            "workers",
            "ok",
            f"{len(alive)} running: {', '.join(state.worker.name for state in alive)}",
        )
    else:
        queued = queries.count_runs(engine, statuses=WAITING)
        text = (
            f"none running, and {queued:,} run{'' if queued == 1 else 's'} in the queue"
            if queued
            else "none alive"
        )
        yield Check("workers", "warn", text, "Run: `ganboard up` (or `ganboard worker`)")
    for state in known:
        yield from _silent(state)
    yield from _left_waiting(context, alive)
    yield from _different_versions(alive)


def _silent(state: WorkerState) -> Iterator[Check]:
    """A worker without heartbeats, or whose hardware is not known."""
    name, age = f"worker {state.worker.name}", state.age_seconds
    if not state.alive:
        ago = f"{age:.0f} s" if age < 120 else f"{age / 60:.0f} min"
        yield Check(
            name,
            "warn",
            f"no heartbeat for {ago}",
            "Restart it if it is still needed: `ganboard worker`",
        )
    elif not state.worker.devices:
        yield Check(
            name,
            "warn",
            "has not reported its hardware yet",
            "It does so within a minute of its start.",
        )


def _left_waiting(context: Context, alive: list[WorkerState]) -> Iterator[Check]:
    """Runs that a free worker could have taken long ago, and runs that none can take."""
    free = {state.worker.machine for state in alive if state.worker.run_id is None}
    newest = holders.newest_of_waiting(context.engine)
    held_elsewhere = {
        run_id
        for run_id, one in newest.items()
        if one.machine is not None and one.machine not in free
    }
    long = backlog.waiting_runs(context.engine, for_seconds=LONG_WAIT_SECONDS)
    reasons = waiting.reasons(context, long)
    ripe = sum(run.id not in held_elsewhere and run.id not in reasons for run in long)
    if ripe and free:
        yield Check(
            "waiting",
            "warn",
            f"{ripe:,} waiting for over a minute while a worker is free",
            "Restart the worker if this persists.",
        )
    for reason, count in Counter(one.reason for one in reasons.values()).items():
        text = f"{plural(count, 'run')} waiting for over a minute. {reason}"
        yield Check("placement", "warn", text, "")


def _different_versions(alive: list[WorkerState]) -> Iterator[Check]:
    versions = {
        str(state.worker.devices.get("versions", {}).get("tensorflow"))
        for state in alive
        if state.worker.devices
    }
    if len(versions) > 1:
        remedy = "Results may differ between workers. Install the same version everywhere."
        yield Check(
            "versions",
            "warn",
            f"the workers have different TensorFlow versions ({', '.join(sorted(versions))})",
            remedy,
        )
