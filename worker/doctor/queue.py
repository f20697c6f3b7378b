"""Redis, the doorbell: does it answer, does it take what is written, and will it keep it?"""

from __future__ import annotations

from collections.abc import Iterator

from redis import Redis
from redis.exceptions import NoPermissionError, OutOfMemoryError, RedisError, ResponseError

from db.settings import Settings
from worker.context import connect
from worker.doctor.check import Check
from worker.errors import QueueRefuses, QueueUnreachable

PROBE = "rq:ganboard:doctor"  # a key that the queue's own user may write


def queue(settings: Settings) -> Check:
    """Whether the queue takes messages."""
    named = bool(settings.redis_url)
    try:
        connection = connect(settings)
    except QueueRefuses as error:
        return _refusal(str(error.__cause__))
    except QueueUnreachable:
        remedy = "Check GANBOARD_REDIS_URL" if named else "Run: `ganboard up`"
        return Check("queue", "fail" if named else "warn", "does not answer", f"{remedy}; new runs are stored and start then.")
    with connection:
        try:
            connection.set(PROBE, "1", ex=1)
        except OutOfMemoryError:
            remedy = "Raise its maxmemory, or find out what else is stored in it. Runs are stored all the same and start then."
            return Check("queue", "fail", "refuses to be written: its memory is full (OOM)", remedy)
        except ResponseError as error:
            return _refusal(str(error))
        except RedisError as error:
            return Check("queue", "fail", f"does not answer to a write ({type(error).__name__})", "Look at the log of Redis.")
    return Check("queue", "ok", "the server of GANBOARD_REDIS_URL answers" if named else "the embedded Redis answers")


def keeping(settings: Settings) -> Iterator[Check]:
    """Whether Redis forgets: with another policy or without its file nothing is lost but time, since the database rings again."""
    try:
        with connect(settings) as connection:
            yield from _kept(connection)
    except (QueueUnreachable, NoPermissionError):  # the first is said elsewhere; a user without CONFIG cannot be told
        return
    except RedisError:
        return


def _kept(connection: Redis) -> Iterator[Check]:
    told: dict[str, str] = connection.config_get("maxmemory-policy", "appendonly")  # type: ignore[assignment]
    found = {_text(name): _text(value) for name, value in told.items()}
    if (policy := found.get("maxmemory-policy", "noeviction")) != "noeviction":
        remedy = "Start it with --maxmemory-policy noeviction: full, it should refuse, not forget which runs wait."
        yield Check("queue memory", "warn", f"Redis may throw messages away ({policy})", remedy)
    if found.get("appendonly", "yes") != "yes":
        remedy = "Start it with --appendonly yes; the database rings again for every waiting run in any case."
        yield Check("queue file", "warn", "Redis keeps nothing on disk", remedy)


def _text(value: str | bytes) -> str:
    return value.decode() if isinstance(value, bytes) else value


def _refusal(said: str) -> Check:
    remedy = "Look at the log of Redis, and at GANBOARD_REDIS_URL and its password."
    if said.startswith("MISCONF"):
        remedy = "Its disk is full or broken: make room where Redis keeps its file. Runs are stored all the same and start then."
    return Check("queue", "fail", f"refuses to be written ({said[:120]})", remedy)
