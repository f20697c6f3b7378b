"""Makes the queue agree with the database: dead leases expire, waiting runs are enqueued again. So
does the trash: what has been there for a week is removed."""

from __future__ import annotations

from contextlib import suppress

from redis import Redis

from ganboard.db.errors import LeaseLost
from ganboard.db.placement import backlog
from ganboard.db.runs import expiry, queries
from ganboard.worker import placement, removal
from ganboard.worker.context import Context
from ganboard.worker.queue.enqueue import enqueue_run
from ganboard.worker.telemetry import recording

RIPE_SECONDS = 3.0  # a run that waits longer than this was not picked up when it was enqueued


def reconcile(context: Context, redis: Redis, *, ripe_seconds: float = RIPE_SECONDS) -> None:
    """Enqueue every run that has waited this long and that any worker may take. Raises
    QueueUnreachable."""
    expire_leases(context)
    removal.remove_expired(context)
    waiting = backlog.waiting_runs(context.engine, for_seconds=ripe_seconds)
    for run in placement.tend(context, waiting):
        enqueue_run(redis, run)


def expire_leases(context: Context) -> None:
    """Queue again (or fail) every run whose lease has run out."""
    for run_id in expiry.expire_leases(context.engine):
        run = queries.get_run(context.engine, run_id)
        if run is not None:
            recording.died(run.id, run.attempt)


def bury_own_runs(context: Context, name: str, cause: str) -> None:
    """Queue again what the worker of this name had claimed and did not end."""
    for run in queries.active_runs_of(context.engine, name):
        with suppress(LeaseLost):
            expiry.died(context.engine, run_id=run.id, attempt=run.attempt, cause=cause)
            recording.died(run.id, run.attempt)
