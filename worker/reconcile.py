"""Makes the queue agree with the database: dead leases expire, waiting runs are rung for again."""

from __future__ import annotations

from redis import Redis

from db import commands, queries
from worker.context import Context
from worker.queue import ring

RIPE_SECONDS = 3.0  # a run that waits longer than this was not picked up at its first ring


def reconcile(context: Context, redis: Redis, *, ripe_seconds: float = RIPE_SECONDS) -> int:
    """Ring for every run that has waited so long; returns how many. Raises QueueUnreachable."""
    commands.expire_leases(context.engine)
    waiting = queries.waiting_runs(context.engine, for_seconds=ripe_seconds)
    for run in waiting:
        ring(redis, run)
    return len(waiting)
