"""How requests are asked, with Redis and without."""

from __future__ import annotations

import pytest
from redis import Redis

from ganboard.db import requests
from ganboard.db.models import Run
from ganboard.worker.clear_errors import CLEAR_ERRORS
from ganboard.worker.context import Context
from ganboard.worker.requests import notify
from ganboard.worker.requests.notify import Notifications, ask
from tests.polling import wait_until
from tests.unit.worker.requests.image_requests import DRAW


def test_asking_checks_stores_and_notifies(context: Context, run: Run, redis: Redis) -> None:
    with pytest.raises(CLEAR_ERRORS, match="is invalid"):
        ask(context, "draw", run.id, {"seed": 1, "images": 65}, step=12)
    assert requests.claim(context.engine, requests.IMAGES) is None
    request_id = ask(context, "draw", run.id, DRAW, step=12)
    sent = wait_until(lambda: redis.lrange(notify.CHANNEL, 0, -1), seconds=5)
    assert sent == [request_id.encode()]
    Notifications(context).wait(30)  # returns at once
    assert redis.llen(notify.CHANNEL) == 0
    for _ in range(notify.KEPT + 5):
        notify.notify(context, request_id)
    assert redis.llen(notify.CHANNEL) == notify.KEPT


def test_without_redis_a_request_is_stored_and_the_wait_ends(context: Context, run: Run) -> None:
    notify.notify(context, ask(context, "draw", run.id, DRAW, step=12))
    Notifications(context).wait(0.01)
    assert requests.claim(context.engine, requests.IMAGES) is not None
