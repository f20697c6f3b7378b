"""What lies in the queue, where anybody who reaches Redis may have put it: which messages RQ gets
to see, and which a worker runs."""

from __future__ import annotations

import logging
from typing import Any

from redis.exceptions import ConnectionError as RedisAway
from redis.exceptions import TimeoutError as RedisSilent
from rq.exceptions import NoSuchJobError
from rq.job import Job

from ganboard.db.ids import is_id
from ganboard.worker.queue.enqueue import JOB, QUEUE

log = logging.getLogger("ganboard.worker")

AWAY = (RedisAway, RedisSilent)
MAX_BYTES = 4096  # ours have a few hundred


class Message(Job):
    """A job that RQ may read. What it could not read, and would end the worker for, is deleted and
    does not exist for it."""

    @classmethod
    # RQ's name
    def fetch(cls, id: str, connection: Any = None, serializer: Any = None) -> Job:  # noqa: A002
        try:
            return super().fetch(id, connection=connection, serializer=serializer)
        except (*AWAY, NoSuchJobError):
            raise
        except Exception as error:  # what is not of RQ's making can raise anything
            log.error("Refused job %.80r: it cannot be read (%s).", id, type(error).__name__)
            connection.delete(cls.key_for(id))
            raise NoSuchJobError from None

    def restore(self, raw_data: Any) -> Any:
        if sum(map(len, raw_data.values())) > MAX_BYTES:  # RQ would inflate it, to any size
            raise ValueError("it is too large")
        return super().restore(raw_data)


def is_ours(job: Job) -> bool:
    """Whether a message is exactly what `worker.queue.enqueue` sends: RQ itself would import and
    call anything."""
    try:
        plain = (
            job.func_name == JOB
            and job.instance is None
            and not job.kwargs
            and job.origin == QUEUE
            and job.timeout == -1
        )
        one_id = len(job.args) == 1 and isinstance(job.args[0], str) and is_id(job.args[0])
    except Exception:  # data that cannot be decoded can raise anything
        return False
    extras = (
        job._success_callback_name,
        job._failure_callback_name,
        job._stopped_callback_name,
        job.webhooks,
        job._dependency_ids,
    )
    return plain and one_id and not any(extras) and not job.repeats_left and not job.retries_left
