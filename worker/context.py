"""What every command and page needs: the settings, a migrated database, and a way to the queue."""

from __future__ import annotations

from dataclasses import dataclass

from redis import Redis
from redis.backoff import ExponentialBackoff
from redis.exceptions import RedisError, ResponseError
from redis.retry import Retry
from sqlalchemy import Engine

from db.engine import make_engine
from db.migrate import upgrade
from db.settings import Settings
from worker.access import check_queue
from worker.errors import QueueRefuses, QueueUnreachable
from worker.redis_server import socket_url


@dataclass(frozen=True)
class Context:
    """One process's way to the state; threads may share it."""

    settings: Settings
    engine: Engine

    def redis(self) -> Redis:
        """A connection that answers. Raises QueueUnreachable."""
        return connect(self.settings)


def connect(settings: Settings) -> Redis:
    """A connection to the queue that answers. Raises QueueUnreachable."""
    url = settings.redis_url or socket_url(settings)
    try:
        # few and quick tries: a page must not hang on a silent host, and whoever has to outlive an outage asks again
        patience = {"socket_connect_timeout": 3, "retry": Retry(ExponentialBackoff(cap=0.5, base=0.05), 2)}
        connection = Redis.from_url(url, password=settings.redis_password or None, **patience)
        connection.ping()
    except ResponseError as error:  # its disk is broken (MISCONF), the password is wrong, ...
        raise QueueRefuses(f"The queue refuses commands ({str(error)[:160].rstrip('.')}): see `ganboard doctor`.") from error
    except (RedisError, ValueError, OSError):
        remedy = "check GANBOARD_REDIS_URL" if settings.redis_url else "`ganboard up` starts it"
        raise QueueUnreachable(f"The queue does not answer: {remedy}.") from None
    return connection


def open_context(settings: Settings | None = None, *, pooled: bool = True) -> Context:
    """Open the database and bring it to this version's schema. Raises SettingsError and DbError with one sentence."""
    settings = settings or Settings()
    check_queue(settings)
    settings.prepare_home()
    if (settings.state / "restore.json").exists():  # a restore was cut short
        from worker.restore import recover

        recover(settings)
    engine = make_engine(settings.database, pooled=pooled)
    upgrade(engine)
    return Context(settings, engine)
