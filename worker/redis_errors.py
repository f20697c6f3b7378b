"""What Redis answered instead of doing what it was asked, as one sentence with the remedy."""

from __future__ import annotations

from redis import Redis
from redis.exceptions import AuthenticationError, NoPermissionError, OutOfMemoryError, ResponseError

from ganboard.worker.errors import QueueRefuses, QueueUnreachable

STORED = "Runs are stored all the same and start then"


def explained(error: Exception, redis: Redis, remedy: str) -> QueueUnreachable:
    """The error of `redis` as one that a person can act on; `remedy` is for a server that does not
    answer."""
    if isinstance(error, AuthenticationError):
        return _login(redis)
    if isinstance(error, NoPermissionError):
        return QueueRefuses(
            f"does not permit a command ({_first_line(error)})",
            "Give the user of GANBOARD_REDIS_URL the permissions of docs/security.md",
        )
    if isinstance(error, OutOfMemoryError):
        return QueueRefuses(
            "refuses to be written: its memory is full (OOM)",
            f"Raise its maxmemory, or find out what else is stored in it. {STORED}",
        )
    if isinstance(error, ResponseError):
        room = f"Its disk is full or broken: make room where Redis keeps its file. {STORED}"
        log = "Look at the log of Redis and at GANBOARD_REDIS_URL"
        says = _first_line(error)
        return QueueRefuses(
            f"refuses commands ({says})", room if says.startswith("MISCONF") else log
        )
    return QueueUnreachable("does not answer", remedy)


def _login(redis: Redis) -> QueueRefuses:
    options = redis.connection_pool.connection_kwargs
    if not options.get("password"):
        return QueueRefuses(
            "needs a password", "Name the file that holds it in GANBOARD_REDIS_PASSWORD_FILE"
        )
    user = f"user {options['username']}" if options.get("username") else "the default user"
    return QueueRefuses(
        f"refuses the password of {user}",
        "Check GANBOARD_REDIS_PASSWORD_FILE, and the user in GANBOARD_REDIS_URL",
    )


def _first_line(error: Exception) -> str:
    return next(iter(str(error).splitlines()), type(error).__name__)[:160].rstrip(".")
