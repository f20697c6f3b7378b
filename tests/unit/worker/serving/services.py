"""Registered models, and a real server of them with its client."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx
import uvicorn

from ganboard.db import versions
from ganboard.db.models import ModelVersion
from ganboard.worker.context import Context
from ganboard.worker.registry import versions as models
from ganboard.worker.serving.application import Served, Service
from ganboard.worker.serving.measures import Measures
from ganboard.worker.serving.server import configured
from ganboard.worker.serving.split import Split
from tests.polling import wait_until
from tests.registered import DCGAN, config, finished

TOKEN = "t" * 32


def registered(
    context: Context, settings: dict[str, Any] = DCGAN, name: str = "some", **changes: Any
) -> ModelVersion:
    run, _ = finished(context, config(settings, **changes))
    return models.add(context, run, name)


def service(
    context: Context,
    which: str = "some",
    canary: str | None = None,
    share: float = 0.5,
    token: str = "",
) -> Service:
    measures = Measures()
    served = [
        Served(one := versions.find(context.engine, text), models.load(context, one), measures)
        for text in (which, canary)
        if text
    ]
    return Service(
        served[0], served[1] if canary else None, Split(share if canary else 0), measures, token
    )


@contextmanager
def client(made: Service) -> Iterator[httpx.Client]:
    """A client of a real server on a free port."""
    server = uvicorn.Server(configured(made))
    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        try:
            wait_until(lambda: server.started, seconds=10, what="the server")
            with httpx.Client(
                base_url=f"http://127.0.0.1:{listening.getsockname()[1]}", timeout=60
            ) as opened:
                yield opened
        finally:
            server.should_exit = True
            thread.join()
