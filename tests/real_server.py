"""Applications behind a real socket, in a thread of the test's process."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import uvicorn
from starlette.types import ASGIApp

from tests.polling import wait_until


@contextmanager
def served(app: ASGIApp) -> Iterator[str]:
    """The address of a server that answers with `app`."""
    server = uvicorn.Server(uvicorn.Config(app, port=0, log_level="warning", lifespan="off"))
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        wait_until(lambda: server.started, seconds=10, what="the server")
        (socket,) = server.servers[0].sockets
        yield f"http://127.0.0.1:{socket.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join()
