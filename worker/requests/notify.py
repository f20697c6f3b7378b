"""Asking the painter: first the database, then a ring; and the painter's wait for it. The pages use
`ask`."""

from __future__ import annotations

import contextlib
import threading
import time
from typing import Any

from redis import Redis
from redis.exceptions import RedisError

from ganboard.db import drawings
from ganboard.gan.generation import latent_requests
from ganboard.worker.context import Context
from ganboard.worker.errors import QueueUnreachable

BELL = "ganboard:painter"  # a list of ids; what it says is not read, the database knows it
RINGS_KEPT = 16  # of a bell that nobody hears
RECONNECT_SECONDS = 10.0


def ask(context: Context, **request: Any) -> str:
    """Store a request, the arguments of `db.drawings.ask`, and ring; returns its id. Raises
    WishError, UnknownRun and NotAllowed."""
    latent_requests.parse(request["kind"], request["options"])
    drawing_id = drawings.ask(context.engine, **request)
    # a page waits for no silent host
    threading.Thread(target=ring, args=(context, drawing_id), daemon=True).start()
    return drawing_id


def ring(context: Context, drawing_id: str) -> None:
    """Wake a painter. Without Redis it finds the request all the same, at its next look."""
    with (
        contextlib.suppress(QueueUnreachable, RedisError),
        context.redis() as redis,
        redis.pipeline() as pipe,
    ):
        pipe.lpush(BELL, drawing_id).ltrim(BELL, 0, RINGS_KEPT - 1).execute()


class Bell:
    """Waits for a ring, or for the time to look."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._redis: Redis | None = None
        self._connect_at = 0.0

    def wait(self, seconds: float) -> None:
        """Return at the next ring, after `seconds` at the latest (and a few more while a Redis that
        is away is tried again)."""
        try:
            if self._redis is None and time.monotonic() >= self._connect_at:
                self._connect_at = time.monotonic() + RECONNECT_SECONDS
                self._redis = self._context.redis()
            if self._redis is not None:
                self._redis.blpop([BELL], timeout=seconds)
                return
        except (RedisError, QueueUnreachable):
            self._redis = None
        time.sleep(seconds)
