"""The notifier: one RQ queue that carries run ids and nothing else."""

from __future__ import annotations

import logging
import time
from typing import Any

from redis import Redis
from redis.exceptions import RedisError, ResponseError
from rq import Queue
from rq.job import Job
from rq.registry import (
    CanceledJobRegistry,
    DeferredJobRegistry,
    FailedJobRegistry,
    FinishedJobRegistry,
    ScheduledJobRegistry,
    StartedJobRegistry,
)
from rq.serializers import JSONSerializer
from rq.worker_registration import REDIS_WORKER_KEYS, WORKERS_BY_QUEUE_KEY

from ganboard.db.models import Run
from ganboard.worker.context import Context
from ganboard.worker.errors import QueueUnreachable
from ganboard.worker.redis_errors import explained

log = logging.getLogger("ganboard.worker")

QUEUE = "ganboard"
JOB = "ganboard.worker.queue.job.train"  # the only function that a worker accepts

# no time limit, no retry, nothing kept: lease, attempts and results are the database's
_OPTIONS: dict[str, Any] = {"timeout": -1, "result_ttl": 0, "failure_ttl": 3600}
_REGISTRIES = (
    CanceledJobRegistry, DeferredJobRegistry, FailedJobRegistry, FinishedJobRegistry,
    ScheduledJobRegistry, StartedJobRegistry,
)  # fmt: skip


def open_queue(redis: Redis) -> Queue:
    return Queue(QUEUE, connection=redis, serializer=JSONSerializer)


def wait_for_queue(context: Context) -> None:
    """Redis may start after us, or be restarting: wait for it, saying so once."""
    logged = False
    while True:
        try:
            context.redis()
            return
        except QueueUnreachable as error:
            if not logged:
                log.warning("%s Waiting for it.", error)
                logged = True
            time.sleep(0.5)


def enqueue_run(redis: Redis, run: Run) -> None:
    """Notify the workers of a waiting run. Repeated messages are harmless, since only one claim
    succeeds in the database.

    Raises QueueUnreachable.
    """
    try:
        try:
            _enqueue(redis, run)
        except ResponseError as error:
            if "WRONGTYPE" not in str(error):
                raise
            clear(redis, f"{run.id}-{run.attempt}")
            _enqueue(redis, run)
    except RedisError as error:
        raise explained(error, redis, "A worker enqueues the run later") from None


def sweep(redis: Redis) -> None:
    """Empty what RQ remembers of jobs beside the queue itself. It is never read: the state of a run
    is in the database."""
    queue = open_queue(redis)
    redis.delete(
        queue.intermediate_queue_key, *(registry(queue=queue).key for registry in _REGISTRIES)
    )


def clear(redis: Redis, *job_ids: str) -> None:
    """Throw away all that RQ shares under fixed names, and these jobs: another program has written
    there. Waiting runs are enqueued again."""
    sweep(redis)
    queue = open_queue(redis)
    shared = (Queue.redis_queues_keys, REDIS_WORKER_KEYS, WORKERS_BY_QUEUE_KEY % QUEUE)
    redis.delete(queue.key, *shared, *map(Job.key_for, job_ids))


def message(queue: Queue, run: Run) -> Job:
    """What `enqueue_run` sends, stored in Redis but in no queue: for the worker that takes the run
    without a message; one that is there is taken out. Raises RedisError."""
    sent = f"{run.id}-{run.attempt}"
    queue.remove(sent)
    queue.connection.delete(Job.key_for(sent))
    job = queue.create_job(JOB, args=(run.id,), job_id=f"{run.id}-{run.attempt}-here", **_OPTIONS)
    job.save()
    return job


def _enqueue(redis: Redis, run: Run) -> None:
    queue = open_queue(redis)
    job_id = f"{run.id}-{run.attempt}"
    # the queue's own list, not a registry: counting registries writes to Redis
    if queue.get_job_position(job_id) is None:
        queue.enqueue_call(JOB, args=(run.id,), job_id=job_id, **_OPTIONS)
