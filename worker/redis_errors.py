"""What Redis answered instead of doing what it was asked, as one sentence with the remedy."""

from __future__ import annotations

from redis import Redis
from redis.exceptions import AuthenticationError, NoPermissionError, OutOfMemoryError, ResponseError

from ganboard.worker.errors import QueueRefuses, QueueUnreachable

STORED = "Runs are still stored and start afterwards"


def explained(error: Exception, redis: Redis, remedy: str) -> QueueUnreachable:
    """The error of `redis` as one that a person can act on; `remedy` is for a server that does not
    answer."""
    if isinstance(error, AuthenticationError):
        return _login(redis)
    if isinstance(error, NoPermissionError):
        return QueueRefuses(
            f"does not allow a command ({_first_line(error)})",
            "Grant the user of GANBOARD_REDIS_URL the permissions listed in docs/security.md",
        )
    if isinstance(error, OutOfMemoryError):
        return QueueRefuses(
            "rejects writes because its memory is full (OOM)",
            f"Raise its maxmemory, or remove other data from it. {STORED}",
        )
    if isinstance(error, ResponseError):
        room = f"Free disk space in the data directory of Redis, or check the disk. {STORED}"
        log = "Check the log of Redis and GANBOARD_REDIS_URL"
        says = _first_line(error)
        return QueueRefuses(
            f"rejects commands ({says})", room if says.startswith("MISCONF") else log
        )
    return QueueUnreachable("does not answer", remedy)


def _login(redis: Redis) -> QueueRefuses:
    options = redis.connection_pool.connection_kwargs
    if not options.get("password"):
        return QueueRefuses(
            "needs a password", "Point GANBOARD_REDIS_PASSWORD_FILE to the file that contains it"
        )
    user = f"user {options['username']}" if options.get("username") else "the default user"
    return QueueRefuses(
        f"rejects the password of {user}",
        "Check GANBOARD_REDIS_PASSWORD_FILE, and the user in GANBOARD_REDIS_URL",
    )


def _first_line(error: Exception) -> str:
    return next(iter(str(error).splitlines()), type(error).__name__)[:160].rstrip(".")
