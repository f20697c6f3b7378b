"""Messages that others put into Redis: a worker stays alive, runs nothing of theirs, and loses no
run of ours."""

from __future__ import annotations

import json
import os
import signal
import threading
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import strategies as st
from redis import Redis
from rq.job import Job
from rq.serializers import JSONSerializer
from rq.utils import now, utcformat

from ganboard.db.models import Run
from ganboard.db.runs import commands, queries
from ganboard.worker.context import Context
from ganboard.worker.process.parent_death import PARENT
from ganboard.worker.queue import rq_worker, trainers
from ganboard.worker.queue.enqueue import JOB, QUEUE, enqueue_run, open_queue
from ganboard.worker.queue.job import WORKER
from ganboard.worker.queue.message import is_ours
from ganboard.worker.queue.reconcile import reconcile
from ganboard.worker.queue.rq_worker import TrainWorker
from ganboard.worker.submission import submit
from tests.fuzz.cases import fuzzed
from tests.polling import wait_until

MakeRun = Callable[..., Run]
MARK = "touched"

NAMES = st.sampled_from(
    [
        "os.system",
        "eval",
        "exec",
        "builtins.eval",
        "os.mkdir",
        "subprocess.call",
        "ganboard.worker.queue.job.train_here",
        "",
        "a.b",
        JOB,
    ]
)
ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=6,
)
FIELDS = st.sampled_from(
    [
        b"data", b"origin", b"status", b"timeout", b"created_at", b"enqueued_at", b"result_ttl",
        b"failure_ttl", b"ttl", b"webhooks", b"success_callback_name", b"failure_callback_name",
        b"stopped_callback_name", b"success_callback_timeout", b"dependency_ids", b"dependency_id",
        b"meta", b"retries_left", b"retry_intervals", b"repeats_left", b"repeat_intervals",
        b"enqueue_at_front", b"allow_dependency_failures", b"worker_name", b"description",
        b"group_id", b"result", b"last_heartbeat", b"started_at", b"\xff",
    ]
)  # fmt: skip
KEYS = (
    f"rq:queue:{QUEUE}", f"rq:wip:{QUEUE}", f"rq:failed:{QUEUE}", f"rq:finished:{QUEUE}",
    f"rq:deferred:{QUEUE}", f"rq:scheduled:{QUEUE}", f"rq:canceled:{QUEUE}", f"rq:workers:{QUEUE}",
    f"rq:queue:{QUEUE}:intermediate", f"rq:clean_registries:{QUEUE}", "rq:workers", "rq:queues",
    "rq:suspended", "rq:groups",
)  # fmt: skip
KINDS = ("string", "list", "set", "zset", "hash")


def message(
    function: Any = JOB, arguments: Any = ("abc",), instance: Any = None, named: Any = None
) -> bytes:
    return zlib.compress(json.dumps([function, instance, arguments, named or {}]).encode())


def sent(redis: Redis, fields: dict[Any, Any], job_id: str = "foreign") -> None:
    """A job as RQ writes it, some fields replaced (None: left out), in the queue."""
    usual = {
        "data": message(),
        "origin": QUEUE,
        "status": "queued",
        "created_at": utcformat(now()),
        "timeout": -1,
    }
    hash_ = {name: value for name, value in {**usual, **fields}.items() if value is not None}
    redis.delete(f"rq:job:{job_id}")
    redis.hset(f"rq:job:{job_id}", mapping=hash_)
    redis.rpush(f"rq:queue:{QUEUE}", job_id)


def planted(redis: Redis, key: str, kind: str, value: bytes) -> None:
    redis.delete(key)
    if kind == "string":
        redis.set(key, value)
    elif kind == "list":
        redis.rpush(key, value)
    elif kind == "set":
        redis.sadd(key, value)
    elif kind == "zset":
        redis.zadd(key, {value: 1.0})
    else:
        redis.hset(key, mapping={value: value})


class NoProbe:
    def result(self) -> None:
        return None


@pytest.fixture
def worker(
    context: Context, redis: Redis, monkeypatch: pytest.MonkeyPatch
) -> Iterator[TrainWorker]:
    """A worker in this process; a trainer would end at once, without TensorFlow."""
    monkeypatch.setattr(rq_worker, "DeviceProbe", NoProbe)  # what this machine has plays no part
    monkeypatch.setattr(trainers, "TRAINER", ("true",))
    monkeypatch.setenv(WORKER, "box:1")
    monkeypatch.setenv(PARENT, str(os.getpid()))
    usual = {sig: signal.getsignal(sig) for sig in (signal.SIGINT, signal.SIGTERM)}
    yield TrainWorker(context, "box:1")
    for sig, handler in usual.items():
        signal.signal(sig, handler)


def works_off(context: Context, worker: TrainWorker) -> None:
    """A worker of the same machine as new, until the queue is empty."""
    fresh = TrainWorker(context, "box:1")
    fresh.log.disabled = True
    errors: list[Any] = []
    fresh.log.error = lambda text, *rest, **named: errors.append(text % rest if rest else text)
    fresh.work(burst=True, logging_level="CRITICAL")
    assert not [error for error in errors if "quitting" in error], errors


@fuzzed(
    2,
    function=NAMES | st.text(max_size=30),
    arguments=st.lists(ANYTHING, max_size=3) | ANYTHING,
    instance=st.none() | ANYTHING,
    named=st.none() | st.dictionaries(st.text(max_size=5), ANYTHING, max_size=2),
    extra=st.dictionaries(
        FIELDS,
        st.binary(max_size=20) | st.sampled_from([b"1", b"os.system", b'["x"]', b"-1"]),
        max_size=2,
    ),
)
def test_only_a_plain_message_is_ours(
    redis: Redis,
    function: Any,
    arguments: Any,
    instance: Any,
    named: Any,
    extra: dict[bytes, bytes],
) -> None:
    fields = {"data": message(function, arguments, instance, named), "origin": QUEUE, "timeout": -1}
    redis.delete("rq:job:x")
    redis.hset(
        "rq:job:x",
        mapping={
            **fields,
            **{
                name.decode(errors="surrogateescape"): value
                for name, value in extra.items()
                if name != b"\xff"
            },
        },
    )
    try:
        found = Job.fetch("x", connection=redis, serializer=JSONSerializer)
    except Exception:  # RQ cannot read it: what `Message` is for
        return
    plain = (
        function == JOB
        and isinstance(arguments, list)
        and len(arguments) == 1
        and isinstance(arguments[0], str)
        and not instance
        and not named
    )
    if is_ours(found):
        assert plain
        assert arguments[0].isascii()
        assert arguments[0].isalnum()
        assert found.timeout == -1
        assert not any(name.endswith(b"callback_name") for name in extra)


@fuzzed(
    0.5,
    fields=st.dictionaries(
        FIELDS,
        st.none()
        | st.binary(max_size=40)
        | st.sampled_from([b"-1", b"1e9", b"null", b"[]", b"{}", b"\x80\x04"]),
        max_size=4,
    ),
    job_id=st.sampled_from(["foreign", "a:b", "rq:job:x", "../x", "\N{SNOWMAN}"])
    | st.text("abc-_: \n", min_size=1, max_size=10),
    shape=st.sampled_from(("hash", "hash", *KINDS)),
)
def test_a_job_of_any_content_is_passed_over(
    context: Context,
    redis: Redis,
    worker: TrainWorker,
    fields: dict[bytes, bytes | None],
    job_id: str,
    shape: str,
) -> None:
    redis.flushall()
    if shape == "hash":
        sent(
            redis, {name.decode(errors="replace"): value for name, value in fields.items()}, job_id
        )
    else:
        planted(redis, f"rq:job:{job_id}", shape, b"x")
        redis.rpush(f"rq:queue:{QUEUE}", job_id)
    works_off(context, worker)
    assert not redis.llen(f"rq:queue:{QUEUE}")


@fuzzed(
    0.1,
    wrong=st.dictionaries(st.sampled_from(KEYS), st.sampled_from(KINDS), min_size=1, max_size=3),
    value=st.sampled_from([b"x", b"\xff\xfe", b"abc", b"a:b:c", b"0", b"x" * 5000]),
)
def test_wrong_keys_stop_no_worker_and_lose_no_run(
    context: Context,
    redis: Redis,
    worker: TrainWorker,
    make_run: MakeRun,
    wrong: dict[str, str],
    value: bytes,
) -> None:
    redis.flushall()
    run = queries.list_runs(context.engine, statuses=("queued",))
    waiting = run[0] if run else make_run(status="queued")
    for key, kind in wrong.items():
        planted(redis, key, kind, value)
    works_off(context, worker)
    planted(redis, f"rq:job:{waiting.id}-{waiting.attempt}", next(iter(wrong.values())), value)
    for key, kind in wrong.items():
        planted(redis, key, kind, value)
    enqueue_run(redis, waiting)
    assert open_queue(redis).get_job_position(f"{waiting.id}-{waiting.attempt}") is not None
    for _ in range(2):  # what lay under the message's own name costs one more message
        works_off(context, worker)
        reconcile(context, redis, ripe_seconds=0)
    found = queries.get_run(context.engine, waiting.id)
    assert found is not None
    assert found.attempt > waiting.attempt


@pytest.mark.parametrize(
    "payload",
    [
        {"data": message("os.mkdir", [MARK])},
        {"data": message("builtins.eval", [f"__import__('os').mkdir({MARK!r})"])},
        {"data": message("os.mkdir", [MARK]), "failure_callback_name": "os.mkdir"},
        {
            "data": message(JOB, [MARK]),
            "failure_callback_name": "os.mkdir",
            "failure_callback_timeout": 60,
        },
        {"data": message(JOB, [1.5])},
        {"data": message(JOB, [-1])},
        {"data": message(JOB, [10**300])},
        {"data": message(JOB, ["x" * 3000])},
        {"data": message(JOB, ["\ud800"])},
        {"data": message(JOB, ["a\0b"])},
        {"data": message(JOB, ["gone"])},
        {"data": message(JOB, ["gone", "more"])},
        {"data": message(JOB, ["gone"]), "timeout": 1},
        {"data": message(JOB, ["gone"]), "retries_left": 5},
        {"data": zlib.compress(b"[" * 100_000)},
        {"data": zlib.compress(b" " * (256 << 20), 9)},
        {"data": b"\x80\x04\x95"},
        {"data": b"\xff" * 2000},
        {"status": "no such state"},
        {"created_at": "yesterday"},
        {"meta": b"\xff"},
        {"webhooks": b'[{"url": "http://127.0.0.1:9/"}]'},
        {"dependency_ids": b"[" * 5000},
    ],
    ids=lambda payload: str(payload)[:60],
)
def test_known_bad_messages(
    context: Context,
    redis: Redis,
    worker: TrainWorker,
    make_run: MakeRun,
    payload: dict[str, Any],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    ended = make_run(status="finished", epochs=1)
    sent(redis, payload)
    sent(redis, {"data": message(JOB, [ended.id])}, "finished-1")
    works_off(context, worker)
    assert not (tmp_path / MARK).exists()
    assert not redis.llen(f"rq:queue:{QUEUE}")
    found = queries.get_run(context.engine, ended.id)
    assert found is not None
    assert (found.status, found.attempt) == ("finished", ended.attempt)


def test_no_callback_of_a_job_that_seems_lost_is_called(
    context: Context,
    redis: Redis,
    worker: TrainWorker,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """RQ's maintenance imports and calls it in the worker's own process."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "planted.py").write_text(
        f"import os\ndef callback(*a, **k):\n    os.mkdir({MARK!r})\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    sent(
        redis, {"failure_callback_name": "planted.callback", "failure_callback_timeout": 60}, "lost"
    )
    redis.delete(f"rq:queue:{QUEUE}")
    redis.zadd(f"rq:wip:{QUEUE}", {"lost:execution": 1.0})
    works_off(context, worker)
    assert not (tmp_path / MARK).exists()


def test_a_job_that_turns_foreign_while_it_runs_ends_neither_worker_nor_run(
    context: Context,
    redis: Redis,
    worker: TrainWorker,
    make_run: MakeRun,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    run, mark = make_run(status="queued"), tmp_path / "begun"  # only the first attempt takes long
    monkeypatch.setattr(
        trainers,
        "TRAINER",
        ("sh", "-c", f"test -e {mark} || {{ touch {mark}; sleep 2.5; }}; exit 1", "sh"),
    )
    enqueue_run(redis, run)

    def spoil() -> None:
        wait_until(
            lambda: queries.active_runs_of(context.engine, "box:1"), seconds=20, what="the claim"
        )
        for key in redis.keys("rq:*"):
            planted(redis, key.decode(), "string", b"\xff")

    thread = threading.Thread(target=spoil)
    thread.start()
    works_off(context, worker)
    thread.join()
    found = queries.get_run(context.engine, run.id)
    assert found is not None
    assert found.attempt >= 2, "it was taken up again"


def test_a_page_submits_while_the_queue_holds_garbage(context: Context, redis: Redis) -> None:
    redis.rpush(f"rq:queue:{QUEUE}", b"\xff\xfe")
    from ganboard.gan.presets import load

    run = submit.submit(context, load("tiny"))
    assert commands.claim(context.engine, run_id=run.id, worker="w") is not None
