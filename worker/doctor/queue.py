"""Redis, the notifier: does it answer, does it take what is written, and will it keep it?"""

from __future__ import annotations

from collections.abc import Iterator

from redis import Redis
from redis.exceptions import RedisError

from ganboard.db.settings import Settings
from ganboard.worker.context import connect
from ganboard.worker.doctor.check import Check
from ganboard.worker.errors import QueueRefuses, QueueUnreachable
from ganboard.worker.redis_errors import explained

PROBE = "rq:ganboard:doctor"  # a key that the queue's own user may write


def queue(settings: Settings) -> Check:
    """Whether the queue takes messages."""
    named = bool(settings.redis_url)
    try:
        with connect(settings) as connection:
            _write(connection)
    except QueueUnreachable as error:
        absent = not (named or isinstance(error, QueueRefuses))
        remedy = (
            f"{error.remedy}. New runs are stored and start afterwards."
            if absent
            else f"{error.remedy}."
        )
        return Check("queue", "warn" if absent else "fail", error.problem, remedy)
    return Check(
        "queue",
        "ok",
        "the server at GANBOARD_REDIS_URL is reachable"
        if named
        else "the embedded Redis is reachable",
    )


def _write(connection: Redis) -> None:
    """Raises QueueUnreachable unless the server takes a value."""
    try:
        connection.set(PROBE, "1", ex=1)
    except RedisError as error:
        raise explained(error, connection, "Check the log of Redis") from None


def keeping(settings: Settings) -> Iterator[Check]:
    """Whether Redis can lose messages; that only costs time, since the database enqueues runs
    again."""
    try:
        with connect(settings) as connection:
            yield from _kept(connection)
    # the first is reported elsewhere; not every user may read the configuration
    except (QueueUnreachable, RedisError):
        return


def _kept(connection: Redis) -> Iterator[Check]:
    answered: dict[str, str] = connection.config_get("maxmemory-policy", "appendonly")  # type: ignore[assignment]
    found = {_text(name): _text(value) for name, value in answered.items()}
    if (policy := found.get("maxmemory-policy", "noeviction")) != "noeviction":
        remedy = (
            "Start it with --maxmemory-policy noeviction, so that it rejects writes instead of"
            " dropping queued runs when its memory is full."
        )
        yield Check("queue memory", "warn", f"Redis may evict messages ({policy})", remedy)
    if found.get("appendonly", "yes") != "yes":
        remedy = (
            "Start it with --appendonly yes. Waiting runs are enqueued again from the database in"
            " any case."
        )
        yield Check("queue file", "warn", "Redis does not persist to disk", remedy)


def _text(value: str | bytes) -> str:
    return value.decode() if isinstance(value, bytes) else value
