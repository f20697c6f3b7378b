"""What every command and page needs: the settings, a migrated database, and a way to the queue."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlalchemy import Engine

from ganboard.db.engine import make_engine
from ganboard.db.migrate import upgrade
from ganboard.db.settings import Settings
from ganboard.gan.costs import measured
from ganboard.worker.access import check_queue

if TYPE_CHECKING:
    from redis import Redis


@dataclass(frozen=True)
class Context:
    """One process's way to the state; threads may share it."""

    settings: Settings
    engine: Engine
    user: str = ""  # who submits runs: an address that signed in, or an account of this machine

    def redis(self) -> Redis:
        """A connection that answers. Raises QueueUnreachable."""
        return connect(self.settings)


def account() -> str:
    """The account of this machine that runs this process; empty in a container without one."""
    return os.environ.get("USER") or os.environ.get("LOGNAME") or ""


def connect(settings: Settings) -> Redis:
    """A connection to the queue that answers. Raises QueueUnreachable."""
    from redis import Redis
    from redis.backoff import ExponentialBackoff
    from redis.exceptions import RedisError
    from redis.retry import Retry

    from ganboard.worker.errors import QueueUnreachable
    from ganboard.worker.process.redis_server import socket_url
    from ganboard.worker.redis_errors import explained

    url = settings.redis_url or socket_url(settings)
    # few and quick retries: a page must not hang on an unreachable host; long-running callers retry
    # themselves
    patience = {
        "socket_connect_timeout": 3,
        "retry": Retry(ExponentialBackoff(cap=0.5, base=0.05), 2),
    }
    try:
        connection = Redis.from_url(url, password=settings.redis_password or None, **patience)
    except ValueError:  # its text may hold the password
        raise QueueUnreachable("has no usable address", "Check GANBOARD_REDIS_URL") from None
    try:
        connection.ping()
    except (RedisError, ValueError, OSError) as error:
        remedy = "Check GANBOARD_REDIS_URL" if settings.redis_url else "Run `ganboard up`"
        raise explained(error, connection, remedy) from None
    return connection


def open_context(
    settings: Settings | None = None, *, pooled: bool = True, create: bool = True
) -> Context:
    """Open the database and bring it to this version's schema; `create` makes HOME and an SQLite
    database where there is none.

    Raises SettingsError and DbError with one sentence.
    """
    settings = settings or Settings()
    measured.keep_in(settings.state / "costs")
    check_queue(settings)
    cut_short = (settings.state / "restore.json").exists()
    if not create and not cut_short:
        settings.require_database()
    if create or settings.state.is_dir() or settings.store:  # what is fetched lies in HOME
        settings.prepare_home()
    if cut_short:
        from ganboard.worker.atomic_swap import recover

        recover(settings)
    engine = make_engine(settings.database, pooled=pooled)
    upgrade(engine)
    return Context(settings, engine)
