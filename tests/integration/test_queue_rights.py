"""The queue's user may do all that ganboard does, and nothing else: a real Redis with the settings
that the containers get."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
from redis import Redis
from redis.exceptions import AuthenticationError, NoPermissionError

from ganboard.db.models import ENDED
from ganboard.db.runs import queries
from ganboard.gan.presets import load
from ganboard.worker.context import Context, open_context
from ganboard.worker.process import redis_server
from ganboard.worker.process.parent_death import environment_for_child
from ganboard.worker.queue import rq_worker
from ganboard.worker.queue.enqueue import enqueue_run, open_queue
from ganboard.worker.requests import notify
from ganboard.worker.submission.submit import stop, submit
from ganboard.worker.supervisor import secrets
from tests.crash import queue_loss
from tests.polling import wait_until
from tests.processes import below

PASSWORD = "the queue's password"


pytestmark = pytest.mark.skipif(
    queue_loss.keeps_one_file(),
    reason="the containers have redis-server 7, whose rules older ones refuse",
)


@pytest.fixture
def admin(tmp_path: Path) -> Iterator[Redis]:
    """The server, as seen by a user that the containers' Redis has not."""
    conf, path = tmp_path / "redis.conf", tmp_path / "s"
    conf.write_text(secrets.redis_conf(PASSWORD) + "user admin on nopass ~* &* +@all\n")
    command = [
        redis_server.find_binary(),
        str(conf),
        "--port",
        "0",
        "--unixsocket",
        str(path),
        "--dir",
        str(tmp_path),
        "--save",
        "",
    ]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as server:
        wait_until(path.exists, seconds=10, what="the socket of redis-server")
        with Redis(
            unix_socket_path=str(path), username="admin", password="any", decode_responses=True
        ) as connection:
            yield connection
        server.terminate()


@pytest.fixture
def limited(home: Path, admin: Redis, monkeypatch: pytest.MonkeyPatch) -> Iterator[Context]:
    """ganboard on that server."""
    path = admin.connection_pool.connection_kwargs["path"]
    monkeypatch.setenv("GANBOARD_REDIS_URL", f"unix://{secrets.QUEUE_USER}@{path}")
    monkeypatch.setenv("GANBOARD_REDIS_PASSWORD", PASSWORD)
    opened = open_context()
    yield opened
    opened.engine.dispose()


def denied(admin: Redis) -> list[Any]:
    """What the server has refused: (what for, the command or key)."""
    return [(one["reason"], one["object"]) for one in admin.acl_log()]


@pytest.mark.slow
@pytest.mark.thorough
def test_enqueue_run_retry_stop_and_maintenance_are_all_allowed(
    limited: Context, admin: Redis, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = (tmp_path / "worker.log").open("wb")
    command = [sys.executable, "-m", "ganboard.worker.queue.rq_worker"]
    with (
        log,
        subprocess.Popen(command, stdout=log, stderr=log, env=environment_for_child()) as worker,
    ):
        run = submit(
            limited, load("tiny", {"epochs": 200, "limit": 512}), name="killed, goes on, stopped"
        )

        def trainer() -> psutil.Process | None:
            return next(
                iter(below(psutil.Process(worker.pid), "ganboard.worker.training.trainer")), None
            )

        def now() -> Any:
            return queries.find_run(limited.engine, run.id)

        wait_until(lambda: now().step > 0, seconds=120, what="the first steps")
        horse = trainer()
        assert horse is not None
        os.kill(horse.ppid(), signal.SIGKILL)
        wait_until(
            lambda: now().attempt == 2 and now().status == "running",
            seconds=120,
            what="the second attempt",
        )
        stop(limited, run.id)
        wait_until(lambda: now().status in ENDED, seconds=120, what="the end")
        assert now().status == "stopped"
        worker.terminate()
        worker.wait(60)

    monkeypatch.setattr(rq_worker, "DeviceProbe", lambda: None)
    maintainer = rq_worker.TrainWorker(limited, "maintainer")
    maintainer.register_birth()
    maintainer.run_maintenance_tasks()
    maintainer.register_death()
    notify.notify(limited, "a request")
    with limited.redis() as redis:
        assert redis.lrange(notify.CHANNEL, 0, -1) == [b"a request"]
        notify.Notifications(limited).wait(5)
        assert redis.llen(notify.CHANNEL) == 0
        enqueue_run(redis, run)
        assert open_queue(redis).get_job_ids() == [f"{run.id}-{run.attempt}"]
    assert denied(admin) == []


HARMFUL = [
    "FLUSHALL",
    "FLUSHDB",
    "CONFIG GET *",
    "CONFIG SET dir /tmp",
    "KEYS *",
    "MODULE LIST",
    "SLAVEOF 127.0.0.1 1",
    "REPLICAOF no one",
    "EVAL return 0",
    "EVALSHA ffff 0",
    "SCRIPT FLUSH",
    "FUNCTION LIST",
    "RESTORE rq:x 0 x",
    "MIGRATE h 1 rq:x 0 1",
    "SORT rq:x",
    "ACL LIST",
    "SAVE",
    "BGREWRITEAOF",
    "SHUTDOWN NOSAVE",
    "MONITOR",
    "CLIENT KILL TYPE normal",
    "SWAPDB 0 1",
    "PFADD rq:x 1",
    "PFDEBUG GETREG rq:x",
    "GET other",
    "SET other 1",
    "RENAME rq:x other",
    "SUBSCRIBE other",
    "PUBLISH other x",
    "GEOADD rq:x 1 1 a",
    "SETBIT rq:x 1 1",
    "LATENCY DOCTOR",
]


def test_everything_else_is_refused(limited: Context, admin: Redis) -> None:
    admin.rpush("rq:x", "1")
    with limited.redis() as redis:
        for line in HARMFUL:
            with pytest.raises(NoPermissionError):
                redis.execute_command(*line.split())
    assert admin.lrange("rq:x", 0, -1) == ["1"]
    assert admin.acl_whoami() == "admin"


@pytest.mark.thorough
def test_nobody_gets_in_without_the_name_and_the_password(admin: Redis) -> None:
    path = admin.connection_pool.connection_kwargs["path"]
    for user in (
        {},
        {"password": PASSWORD},
        {"username": secrets.QUEUE_USER, "password": "another"},
        {"username": "default", "password": ""},
    ):
        with (
            Redis(unix_socket_path=path, **user) as stranger,
            pytest.raises((AuthenticationError, NoPermissionError)),
        ):
            stranger.ping()


def test_the_containers_health_check_gets_its_answer(limited: Context, admin: Redis) -> None:
    path = admin.connection_pool.connection_kwargs["path"]
    command = ["redis-cli", "-s", path, "--user", secrets.QUEUE_USER, "ping"]
    done = subprocess.run(
        command,
        env={**os.environ, "REDISCLI_AUTH": PASSWORD},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == "PONG"
