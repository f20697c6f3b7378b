"""What every test may use: a state directory of its own, and a real SQLite database in it."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from redis import Redis

from ganboard.db import engine as db_engine
from ganboard.db.engine import make_engine
from ganboard.db.migrate import upgrade
from ganboard.db.models import Run
from ganboard.db.settings import Settings
from ganboard.gan.settings import registry
from ganboard.worker.context import Context, open_context
from ganboard.worker.process import redis_server
from ganboard.worker.process.parent_death import environment_for_child
from tests import factories
from tests.polling import wait_until
from tests.shares import arranged

prepare_sqlite = db_engine._prepare_sqlite
PROCESSES = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", 1))
# which tests: quick (as in `make test`), rest (those that it leaves out) or all
TESTS = os.environ.get("GANBOARD_TESTS", "quick")
# no test begins after this time, in seconds since 1970: .ci/run must end on a slow machine too
UNTIL = float(os.environ.get("GANBOARD_TESTS_UNTIL", "inf"))
NOT_REACHED = "not reached: the time for this run of tests is over"


def pytest_xdist_auto_num_workers() -> int:
    """One process more than processors, since some test always waits for another program."""
    return len(os.sched_getaffinity(0)) + 1 if hasattr(os, "sched_getaffinity") else 3


@pytest.hookimpl(trylast=True)  # pytest sorts by fixtures first
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if TESTS != "all":
        thorough = [item for item in items if item.get_closest_marker("thorough")]
        quick = [item for item in items if not item.get_closest_marker("thorough")]
        chosen, left_out = (thorough, quick) if TESTS == "rest" else (quick, thorough)
        config.hook.pytest_deselected(items=left_out)
        items[:] = chosen
    if PROCESSES > 1:
        items[:] = arranged(items, PROCESSES)


@pytest.hookimpl(tryfirst=True)  # before any fixture
def pytest_runtest_setup() -> None:
    if time.time() > UNTIL:
        pytest.skip(NOT_REACHED)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    skipped = terminalreporter.stats.get("skipped", [])
    if count := sum(NOT_REACHED in str(report.longrepr) for report in skipped):
        terminalreporter.section(f"{count} tests were {NOT_REACHED}")


@pytest.fixture
def offline(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hosts of downloads become a closed port of this machine, so that the tests mean the same
    everywhere."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    monkeypatch.setenv("https_proxy", f"http://127.0.0.1:{port}")
    for name in ("no_proxy", "NO_PROXY"):
        monkeypatch.setenv(name, "")


@pytest.fixture
def named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., None]]:
    """Puts files, as name=source, into a folder that GANBOARD_MODELS names; or lets it name another
    place."""
    folder = tmp_path / "models"

    def name(place: str = str(folder), **files: str) -> None:
        folder.mkdir(exist_ok=True)
        for stem, source in files.items():
            (folder / f"{stem}.py").write_text(source)
        monkeypatch.setenv("GANBOARD_MODELS", place)
        _forget_models()

    yield name
    monkeypatch.undo()
    _forget_models()


def _forget_models() -> None:
    for cached in (registry._found, registry.declared, registry.datasets):
        cached.cache_clear()


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """GANBOARD_HOME in a fresh directory, and no other GANBOARD_ variable."""
    for name in [name for name in os.environ if name.startswith("GANBOARD_")]:
        monkeypatch.delenv(name)
    path = tmp_path / "home"
    monkeypatch.setenv("GANBOARD_HOME", str(path))
    return path


@pytest.fixture(scope="session", autouse=True)
def _unflushed_commits() -> Iterator[None]:
    """Commits in this process do not wait for the disk: tests simulate power cuts, and a commit in
    a process that is killed is as safe. `flushed_commits` undoes it."""

    def prepare(connection: Any, record: Any) -> None:
        prepare_sqlite(connection, record)
        connection.execute("PRAGMA synchronous=OFF")

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(db_engine, "_prepare_sqlite", prepare)
        yield


@pytest.fixture
def flushed_commits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Connections as the product makes them."""
    monkeypatch.setattr(db_engine, "_prepare_sqlite", prepare_sqlite)


@pytest.fixture(scope="session")
def migrated_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An SQLite database with this version's schema, to be copied: quicker than to migrate anew for
    each test."""
    path = tmp_path_factory.mktemp("migrated") / "ganboard.db"
    engine = make_engine(f"sqlite:///{path}")
    upgrade(engine)
    engine.dispose()
    return path


@pytest.fixture
def new_home(
    home: Path, migrated_file: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[[Path], Context]]:
    """Makes GANBOARD_HOME with a migrated SQLite database at this path, and opens it."""
    opened = []

    def make(path: Path) -> Context:
        monkeypatch.setenv("GANBOARD_HOME", str(path))
        shutil.copyfile(migrated_file, Settings().prepare_home() / migrated_file.name)
        opened.append(open_context())
        return opened[-1]

    yield make
    for one in opened:
        one.engine.dispose()


@pytest.fixture
def context(home: Path, new_home: Callable[[Path], Context]) -> Context:
    """Settings and a migrated database in `home`."""
    return new_home(home)


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
