"""Asking the inference worker: first the database, then a notification; and its wait for one. The
pages use `ask`."""

from __future__ import annotations

import contextlib
import threading
import time
from typing import Any

from redis import Redis
from redis.exceptions import RedisError

from ganboard.db import requests
from ganboard.gan.generation import latent_requests
from ganboard.worker.context import Context
from ganboard.worker.errors import QueueUnreachable

CHANNEL = "ganboard:requests"  # a list of ids, which are not read: the database has them
KEPT = 16  # unread notifications
RECONNECT_SECONDS = 10.0


def ask(
    context: Context,
    kind: str,
    run_id: str,
    options: dict[str, Any],
    *,
    step: int,
    instead_of: str | None = None,
) -> str:
    """Store a request for images, as `db.requests.ask` does, and notify; returns its id. Raises
    InvalidRequest, UnknownRun and NotAllowed."""
    latent_requests.parse(kind, options)
    request_id = requests.ask(
        context.engine, kind, [run_id], options, step=step, instead_of=instead_of
    )
    # a page waits for no silent host
    threading.Thread(target=notify, args=(context, request_id), daemon=True).start()
    return request_id


def notify(context: Context, request_id: str) -> None:
    """Wake an inference worker. Without Redis it finds the request at its next poll."""
    with (
        contextlib.suppress(QueueUnreachable, RedisError),
        context.redis() as redis,
        redis.pipeline() as pipe,
    ):
        pipe.lpush(CHANNEL, request_id).ltrim(CHANNEL, 0, KEPT - 1).execute()


class Notifications:
    """Waits for a notification, or for the time to poll."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._redis: Redis | None = None
        self._connect_at = 0.0

    def wait(self, seconds: float) -> None:
        """Return at the next notification, after `seconds` at the latest (and a few more while a
        Redis that is away is tried again)."""
        try:
            if self._redis is None and time.monotonic() >= self._connect_at:
                self._connect_at = time.monotonic() + RECONNECT_SECONDS
                self._redis = self._context.redis()
            if self._redis is not None:
                self._redis.blpop([CHANNEL], timeout=seconds)
                return
        except (RedisError, QueueUnreachable):
            self._redis = None
        time.sleep(seconds)
