"""What every test may use: a state directory of its own, and a real SQLite database in it."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest
from redis import Redis

from ganboard.db.models import Run
from ganboard.worker.context import Context, open_context
from ganboard.worker.process import redis_server
from ganboard.worker.process.parent_death import environment_for_child
from tests import factories
from tests.polling import wait_until

THOROUGH = os.environ.get("GANBOARD_TESTS") == "all"


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if not THOROUGH:
        left_out = [item for item in items if item.get_closest_marker("thorough")]
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item not in left_out]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """GANBOARD_HOME in a fresh directory, and no other GANBOARD_ variable."""
    for name in [name for name in os.environ if name.startswith("GANBOARD_")]:
        monkeypatch.delenv(name)
    path = tmp_path / "home"
    monkeypatch.setenv("GANBOARD_HOME", str(path))
    return path


@pytest.fixture
def context(home: Path) -> Iterator[Context]:
    """Settings and a migrated database in `home`."""
    opened = open_context()
    yield opened
    opened.engine.dispose()


@pytest.fixture
def make_run(context: Context) -> Callable[..., Run]:
    """`factories.make_run` on the test's database."""
    return partial(factories.make_run, context)


@pytest.fixture
def redis(context: Context) -> Iterator[Redis]:
    """A connection to a real embedded redis-server on `home`'s own socket."""
    with subprocess.Popen(
        redis_server.command(context.settings),
        stdout=subprocess.DEVNULL,
        env=environment_for_child(),
    ) as server:
        path = str(redis_server.socket_path(context.settings))
        wait_until(lambda: os.path.exists(path), seconds=10, what="the socket of redis-server")
        with Redis(unix_socket_path=path, decode_responses=False) as connection:
            wait_until(connection.ping, seconds=10, what="redis-server's answer")
            yield connection
        server.terminate()
