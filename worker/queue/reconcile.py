"""Makes the queue agree with the database: dead leases expire, waiting runs are enqueued again."""

from __future__ import annotations

from redis import Redis

from ganboard.db.models import Run
from ganboard.db.runs import commands, queries
from ganboard.worker import placement
from ganboard.worker.context import Context
from ganboard.worker.queue.enqueue import enqueue_run

RIPE_SECONDS = 3.0  # a run that waits longer than this was not picked up when it was enqueued


def reconcile(context: Context, redis: Redis, *, ripe_seconds: float = RIPE_SECONDS) -> list[Run]:
    """Ring for every run that has waited so long and that any worker may take. Raises
    QueueUnreachable.

    Returns those that are for this machine alone: a message would reach any worker, and most often
    another one, which listens just then.
    """
    commands.expire_leases(context.engine)
    ready = placement.ready(context, queries.waiting_runs(context.engine, for_seconds=ripe_seconds))
    for run in ready.anywhere:
        enqueue_run(redis, run)
    return ready.here
