"""The doorbell: one RQ queue that carries run ids and nothing else."""

from __future__ import annotations

from redis import Redis
from redis.exceptions import RedisError
from rq import Queue
from rq.serializers import JSONSerializer

from db.models import Run
from worker.errors import QueueUnreachable

QUEUE = "ganboard"
JOB = "worker.job.train"  # the only function that a worker accepts


def open_queue(redis: Redis) -> Queue:
    return Queue(QUEUE, connection=redis, serializer=JSONSerializer)


def ring(redis: Redis, run: Run) -> None:
    """Tell the workers that this run waits; repeated rings are harmless, since the database lets only one claim succeed.

    Raises QueueUnreachable.
    """
    queue = open_queue(redis)
    job_id = f"{run.id}-{run.attempt}"
    try:
        # the queue's own list, not a registry: counting registries writes to Redis
        if job_id in queue.get_job_ids():
            return
        # no time limit, no retry, nothing kept: lease, attempts and results are the database's
        queue.enqueue_call(JOB, args=(run.id,), job_id=job_id, timeout=-1, result_ttl=0, failure_ttl=3600)
    except RedisError as error:
        raise QueueUnreachable(f"The queue does not answer ({type(error).__name__}).") from None
