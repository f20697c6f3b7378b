"""`ganboard up` keeps its services alive, one with a damaged memory, too."""

from __future__ import annotations

from redis import Redis

from tests.polling import wait_until
from worker.context import Context
from worker.supervisor import _services


def test_a_redis_that_cannot_read_its_log_is_started_empty(context: Context, redis: Redis) -> None:
    redis.set("a", 1)
    redis.shutdown(nosave=True)
    [log] = (context.settings.state / "redis").rglob("*.incr.aof")
    log.write_bytes(log.read_bytes() + b"rubbish")
    server = _services(context.settings, context, port=0, workers=1, address="127.0.0.1")[0]
    said: list[str] = []
    server.start()
    try:

        def announced() -> bool:
            server.tend(said.append)
            return server.announced

        wait_until(announced, seconds=30, what="an empty server")
        assert redis.get("a") is None
    finally:
        server.end(10)
    assert "ended with code 1" in said[0]
    assert "redis-damaged-1" in said[1]
    assert "ready" in said[-1]
    assert (context.settings.state / "redis-damaged-1").is_dir()
