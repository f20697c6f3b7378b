"""Where the dashboard serves the REST API, which the first request loads."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import httpx
from starlette.applications import Starlette

from ganboard.app.web import rest
from ganboard.db.models import Run
from tests.real_server import served


def test_first_requests_at_once_get_one_application(make_run: Callable[..., Run]) -> None:
    run = make_run()
    rest.loaded.cache_clear()
    with served(Starlette(routes=rest.ROUTES)) as address, ThreadPoolExecutor(4) as threads:
        answers = list(threads.map(httpx.get, 4 * [f"{address}/api/v1/runs/{run.id}"]))
    assert [answer.json()["id"] for answer in answers] == 4 * [run.id]
    assert rest.loaded.cache_info().misses == 1
