"""Notifications on a real redis-server: what is sent, and what a worker refuses."""

from __future__ import annotations

import logging
from collections.abc import Callable

import pytest
from redis import Redis
from rq.job import Callback, Job
from rq.serializers import JSONSerializer

from ganboard.db.models import Run
from ganboard.worker.context import Context
from ganboard.worker.queue import rq_worker
from ganboard.worker.queue.enqueue import enqueue_run, open_queue
from ganboard.worker.queue.message import Message, is_ours
from ganboard.worker.queue.rq_worker import TrainWorker


def test_a_message_carries_the_run_id_and_nothing_else(
    redis: Redis, make_run: Callable[..., Run]
) -> None:
    run = make_run(status="queued")
    enqueue_run(redis, run)
    enqueue_run(redis, run)
    [job] = open_queue(redis).jobs
    assert (job.func_name, list(job.args), job.kwargs, job.timeout, job.result_ttl) == (
        "ganboard.worker.queue.job.train",
        [run.id],
        {},
        -1,
        0,
    )
    assert is_ours(job)


RUN = "abcdefghjk"  # so that each foreign job is wrong in one thing alone


@pytest.mark.parametrize(
    "foreign",
    [
        {"func": "os.system", "args": (RUN,)},
        {"func": "eval", "args": (RUN,)},
        {"func": "ganboard.worker.queue.job.train", "args": (1,)},
        {"func": "ganboard.worker.queue.job.train", "args": (RUN, RUN)},
        {"func": "ganboard.worker.queue.job.train", "args": (RUN,), "kwargs": {"x": 1}},
        {
            "func": "ganboard.worker.queue.job.train",
            "args": (RUN,),
            "on_success": Callback("os.getcwd"),
        },
        {
            "func": "ganboard.worker.queue.job.train",
            "args": (RUN,),
            "on_failure": Callback("os.getcwd"),
        },
        {
            "func": "ganboard.worker.queue.job.train",
            "args": (RUN,),
            "on_stopped": Callback("os.getcwd"),
        },
    ],
)
def test_foreign_jobs_are_refused(redis: Redis, foreign: dict[str, object]) -> None:
    job = open_queue(redis).enqueue_call(**{"timeout": -1, **foreign})  # type: ignore[arg-type]
    assert not is_ours(Job.fetch(job.id, connection=redis, serializer=JSONSerializer))


def test_garbage_is_refused(redis: Redis) -> None:
    job = open_queue(redis).enqueue_call("ganboard.worker.queue.job.train", args=("a",))
    redis.hset(job.key, "data", b"\x80\x04not json")
    assert not is_ours(Job.fetch(job.id, connection=redis, serializer=JSONSerializer))


class Flushed(Message):
    """A job during which Redis loses everything."""

    def perform(self) -> None:
        self.connection.flushall()


def test_a_queue_that_is_emptied_during_a_job_is_one_line_in_the_log(
    context: Context,
    redis: Redis,
    make_run: Callable[..., Run],
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(rq_worker, "DeviceProbe", lambda: None)
    run = make_run(status="queued")
    enqueue_run(redis, run)
    worker = TrainWorker(context, "vm:1")
    worker.register_birth()
    queue = open_queue(redis)
    job = Flushed.fetch(queue.job_ids[0], connection=redis, serializer=JSONSerializer)
    worker.prepare_execution(job)
    worker._is_horse = True  # as after the fork: the worker itself has other duties
    with caplog.at_level(logging.INFO):
        assert worker.perform_job(job, queue)  # type: ignore[no-untyped-call]
    assert "Traceback" not in caplog.text
    assert f"run {run.id}; the run is unaffected" in caplog.text
    assert not redis.exists(job.key)
