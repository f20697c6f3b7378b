"""A queue that forgets, repeats itself or comes back older: every run is trained all the same, and
once.

python -m tests.crash.queue_loss        # 22 runs and FLUSHALL, 1,000 repeated messages, 100 damaged
append-only files
"""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from redis import Redis
from redis.backoff import NoBackoff
from redis.exceptions import RedisError
from redis.retry import Retry

from ganboard.db.models import ENDED
from ganboard.db.placement import backlog
from ganboard.db.runs import commands, queries
from ganboard.worker.context import Context, open_context
from ganboard.worker.process import redis_server
from ganboard.worker.process.parent_death import environment_for_child
from ganboard.worker.queue.enqueue import JOB, enqueue_run, open_queue
from ganboard.worker.queue.reconcile import reconcile
from tests.crash.checker import Expected, assert_none
from tests.crash.short_trainer import HOLD
from tests.polling import wait_until

SAYS_ANYWAY = (
    "oO0Oo",
    "Redis version",
    "Configuration loaded",
    "Server initialized",
    "WARNING Memory overcommit",
)
CONFIG = {"epochs": 1, "batch_size": 8}


@contextmanager
def server(context: Context) -> Iterator[tuple[Redis, subprocess.Popen[str]]]:
    """A real redis-server of this home, killed at the end."""
    command = redis_server.command(context.settings)
    options = {
        "stdout": subprocess.PIPE,
        "stderr": subprocess.STDOUT,
        "text": True,
        "errors": "replace",
    }
    with subprocess.Popen(command, env=environment_for_child(), **options) as process:
        try:
            with Redis(
                unix_socket_path=str(redis_server.socket_path(context.settings)),
                retry=Retry(NoBackoff(), 0),
            ) as redis:
                wait_until(
                    lambda: process.poll() is not None or _answers(redis),
                    seconds=20,
                    what="redis-server's answer",
                )
                yield redis, process
        finally:
            process.kill()


def _answers(redis: Redis) -> bool:
    try:
        return bool(redis.ping())
    except (RedisError, OSError):
        return False


@contextmanager
def workers(context: Context, number: int) -> Iterator[list[subprocess.Popen[bytes]]]:
    """Real workers whose runs take no time, ended afterwards."""
    environment = {**environment_for_child(), "GANBOARD_HOME": str(context.settings.state)}
    command = [sys.executable, "-m", "tests.crash.short_trainer"]
    log = (context.settings.state / "workers.log").open("ab")
    started = [
        subprocess.Popen(command, stdout=log, stderr=log, env=environment) for _ in range(number)
    ]
    try:
        yield started
    finally:
        for worker in started:
            worker.terminate()
        for worker in started:
            worker.wait(60)
        log.close()


def trained(context: Context) -> list[str]:
    """Ids of the runs in the order in which trainings of them began."""
    path = context.settings.state / "trained"
    return path.read_text().split() if path.exists() else []


def submitted(context: Context, redis: Redis, number: int) -> list[str]:
    runs = commands.create_runs(context.engine, [(f"run {i}", CONFIG) for i in range(number)])
    for run in runs:
        enqueue_run(redis, run)
    return [run.id for run in runs]


def all_ended(context: Context, run_ids: list[str]) -> bool:
    return all(run.status in ENDED for run in queries.get_runs(context.engine, run_ids))


def flushed(context: Context, queued: int, running: int = 2) -> float:
    """FLUSHALL while some runs train and others wait. Returns the seconds until the last waiting
    one began to train."""
    with server(context) as (redis, process), workers(context, running):
        (context.settings.state / HOLD).touch()
        run_ids = submitted(context, redis, running + queued)
        wait_until(lambda: len(trained(context)) == running, seconds=60, what="the first trainings")
        redis.flushall()
        began = time.monotonic()
        (context.settings.state / HOLD).unlink()
        wait_until(
            lambda: all_ended(context, run_ids),
            seconds=30 + 10 * len(run_ids),
            what="the end of all runs",
        )
        took = time.monotonic() - began
        wait_until(
            lambda: not backlog.waiting_runs(context.engine), seconds=10, what="nothing waiting"
        )
        left = "rq:job:*"
        wait_until(lambda: not redis.keys(left), seconds=30, what="no message left in Redis")
        live = process.pid
    log = (context.settings.state / "workers.log").read_text()
    assert "Traceback" not in log, log
    # those that trained during the flush, and those whose repeated message another worker removed
    assert running <= log.count("Redis no longer has the message") <= len(run_ids), log
    assert sorted(trained(context)) == sorted(run_ids), "a run was trained twice, or never"
    assert_none(context, Expected(dict.fromkeys(run_ids, ("finished",)), alive=(live,)))
    return took


def repeated(context: Context, times: int) -> float:
    """The same run enqueued `times` times to two workers, and again after it has ended. Returns the
    mean seconds of a needless message."""
    with server(context) as (redis, _):
        (run_id,) = submitted(context, redis, 1)
        queue = open_queue(redis)

        def again(name: str) -> None:
            for number in range(times):
                queue.enqueue_call(
                    JOB,
                    args=(run_id,),
                    job_id=f"{name}-{number}",
                    timeout=-1,
                    result_ttl=0,
                    failure_ttl=60,
                )

        again("before")
        with workers(context, 2):
            wait_until(lambda: all_ended(context, [run_id]), seconds=60, what="the end of the run")
            wait_until(lambda: queue.count == 0, seconds=60 + times, what="an empty queue")
            began = time.monotonic()
            again("after")
            wait_until(
                lambda: queue.count == 0, seconds=60 + times, every=0.01, what="an empty queue"
            )
            mean = 2 * (time.monotonic() - began) / times  # two workers
    assert trained(context) == [run_id], "it was trained more than once"
    assert_none(context, Expected({run_id: ("finished",)}))
    return mean


# --- damaged append-only files ---


def keeps_one_file() -> bool:
    """Whether this redis-server is older than 7, which split its log into parts."""
    said = subprocess.run(
        [redis_server.find_binary(), "--version"], capture_output=True, text=True, check=True
    )
    return int(said.stdout.split("v=", 1)[1].split(".", 1)[0]) < 7


def _incr(folder: Path) -> Path:
    return next((folder / "appendonlydir").glob("*.incr.aof"))


def _base(folder: Path) -> Path:
    return next((folder / "appendonlydir").glob("*.base.rdb"))


def _manifest(folder: Path) -> Path:
    return next((folder / "appendonlydir").glob("*.manifest"))


def _overwrite(path: Path, chance: random.Random, length: int = 40) -> None:
    data = bytearray(path.read_bytes())
    start = chance.randrange(len(data) // 4, max(len(data) // 4 + 1, 3 * len(data) // 4))
    data[start : start + length] = chance.randbytes(length)
    path.write_bytes(data)


def _cut(path: Path, chance: random.Random) -> None:
    os.truncate(path, chance.randrange(path.stat().st_size))


def _append(path: Path, chance: random.Random) -> None:
    with path.open("ab") as file:
        file.write(chance.randbytes(60))


@dataclass(frozen=True)
class Damage:
    name: str
    do: Callable[[Path, random.Random], object]
    starts: bool | None  # whether redis-server starts with it; None: that depends on the place


DAMAGES = (
    Damage("log cut anywhere", lambda folder, chance: _cut(_incr(folder), chance), True),
    Damage("log empty", lambda folder, chance: os.truncate(_incr(folder), 0), True),
    Damage(
        "garbage in the middle of the log",
        lambda folder, chance: _overwrite(_incr(folder), chance),
        None,
    ),
    Damage(
        "garbage at the end of the log",
        lambda folder, chance: _append(_incr(folder), chance),
        False,
    ),
    Damage("log missing", lambda folder, chance: _incr(folder).unlink(), False),
    Damage("base cut", lambda folder, chance: _cut(_base(folder), chance), False),
    Damage("base empty", lambda folder, chance: os.truncate(_base(folder), 0), True),
    Damage(
        "garbage in the base", lambda folder, chance: _overwrite(_base(folder), chance, 8), None
    ),
    Damage("base missing", lambda folder, chance: _base(folder).unlink(), False),
    Damage(
        "garbage in the list of files",
        lambda folder, chance: _overwrite(_manifest(folder), chance, 8),
        None,
    ),
    Damage("list of files empty", lambda folder, chance: os.truncate(_manifest(folder), 0), False),
    Damage("list of files missing", lambda folder, chance: _manifest(folder).unlink(), True),
    Damage(
        "everything missing", lambda folder, chance: shutil.rmtree(folder / "appendonlydir"), True
    ),
)


def recorded(context: Context, runs: int = 8) -> list[str]:
    """Runs that wait, enqueued, and their queue on disk."""
    with server(context) as (redis, process):
        run_ids = submitted(context, redis, runs)
        wait_until(
            lambda: redis.info("persistence")["aof_pending_bio_fsync"] == 0,
            seconds=10,
            what="the log on disk",
        )
        process.kill()
        process.wait()
    return run_ids


def damaged(
    context: Context, run_ids: list[str], damage: Damage, chance: random.Random
) -> str | None:
    """What redis-server says when it does not start with that damage; None if it starts, and then
    every run is in the queue again, once."""
    folder, whole = context.settings.state / "redis", context.settings.state / "whole"
    if not whole.exists():
        shutil.copytree(folder, whole)
    shutil.rmtree(folder)
    shutil.copytree(whole, folder)
    damage.do(folder, chance)
    with server(context) as (redis, process):
        if process.poll() is not None:
            assert process.stdout
            said = [line.split(" # ", 1)[1].strip() for line in process.stdout if " # " in line]
            return " / ".join(line for line in said if not line.startswith(SAYS_ANYWAY))[:300]
        reconcile(context, redis, ripe_seconds=0)
        queue = open_queue(redis)
        enqueued = [job_id.rsplit("-", 1)[0] for job_id in queue.get_job_ids()]
        assert sorted(enqueued) == sorted(run_ids), "a run is not in the queue, or twice"
        process.kill()
        process.wait()
    return None


@contextmanager
def fresh_context() -> Iterator[Context]:
    with tempfile.TemporaryDirectory() as name:
        os.environ["GANBOARD_HOME"] = name
        context = open_context()
        yield context
        context.engine.dispose()


def main() -> int:
    with fresh_context() as context:
        took = flushed(context, 20)
        print(
            f"FLUSHALL with 20 queued and 2 running: 22 of 22 finished {took:.1f} s later, each"
            " trained once",
            flush=True,
        )
    with fresh_context() as context:
        mean = repeated(context, 1000)
        print(
            "1,000 messages for one run, and 1,000 after it: trained once; a needless message takes"
            f" {1000 * mean:.0f} ms",
            flush=True,
        )
    with fresh_context() as context:
        run_ids, chance = recorded(context), random.Random(0)
        for damage in DAMAGES:
            results = [
                damaged(context, run_ids, damage, chance)
                for _ in range(100 if damage is DAMAGES[0] else 5)
            ]
            refusals = sorted({words for words in results if words is not None})
            print(
                f"{damage.name}: starts {results.count(None)} of {len(results)} times",
                *refusals[:3],
                sep="\n    ",
                flush=True,
            )
    return 0


if __name__ == "__main__":
    sys.exit(main())
