"""The process that submits the runs of searches: its heartbeat, its difficulties, its end by
force."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from ganboard.db import heartbeats
from ganboard.db.models import SEARCHES, Search
from ganboard.db.runs import queries
from ganboard.db.searches import searches
from ganboard.gan import presets
from ganboard.gan.config import ConfigError
from ganboard.worker.context import Context
from ganboard.worker.searches import definition, driver, rounds, space
from ganboard.worker.searches.definition import Budget
from ganboard.worker.searches.objective import Objective
from tests.polling import wait_until
from tests.unit.worker.searches.conftest import StartSearch, train


@contextmanager
def served(context: Context) -> Iterator[None]:
    """The driver in a thread of this process."""
    ended = threading.Event()
    thread = threading.Thread(target=driver.serve, args=(context, ended))
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def test_it_gives_a_heartbeat_and_takes_it_back(anywhere: Context) -> None:
    with served(anywhere):
        alive = wait_until(lambda: heartbeats.search_drivers(anywhere.engine), seconds=10)
        assert [(one.worker.kind, one.alive) for one in alive] == [(SEARCHES, True)]
        assert heartbeats.workers(anywhere.engine) == []
    assert heartbeats.search_drivers(anywhere.engine) == []


def test_what_keeps_it_from_submitting_is_stored(
    anywhere: Context, begin: StartSearch, monkeypatch: pytest.MonkeyPatch
) -> None:
    search = begin()

    def gone(*_: object) -> list[object]:
        raise ConfigError("The data are gone.")

    with monkeypatch.context() as patched:
        patched.setattr(rounds, "make", gone)
        driver.advance(anywhere)
    stored = searches.get(anywhere.engine, search.id)
    assert stored is not None
    assert (stored.state, stored.message) == ("running", "The data are gone.")
    assert driver.advance(anywhere) == 1
    stored = searches.get(anywhere.engine, search.id)
    assert stored is not None
    assert stored.message is None


CODE = (
    "import sys\nfrom ganboard.worker.searches import driver\ncode = driver.main()\n"
    "loaded = {name.split('.')[0] for name in sys.modules}\n"
    "print(sorted(loaded & {'tensorflow', 'keras', 'streamlit'}))\nsys.exit(code)\n"
)


def started(context: Context) -> Search:
    plan = definition.plan(
        context,
        presets.values("tiny"),
        space.axes(["g_learning_rate=1e-5..1e-2"]),
        objective=Objective("fid"),
        sampler="tpe",
        pruner="none",
        seed=0,
        budget=Budget(2),
    )
    return definition.start(context, plan)


def test_a_killed_process_is_followed_by_another(context: Context) -> None:
    search = started(context)
    with subprocess.Popen([sys.executable, "-c", CODE], env=os.environ) as first:
        wait_until(lambda: queries.count_runs(context.engine) == 1, seconds=60)
        first.kill()
    train(context.engine, queries.sweep_runs(context.engine, search.id)[0].id)
    with subprocess.Popen(
        [sys.executable, "-W", "error::UserWarning", "-c", CODE],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ,
    ) as second:
        try:
            wait_until(lambda: queries.count_runs(context.engine) == 2, seconds=60)
            train(context.engine, queries.sweep_runs(context.engine, search.id)[1].id)
            wait_until(lambda: not searches.running(context.engine), seconds=30)
        finally:
            second.send_signal(signal.SIGTERM)
        output, complaints = second.communicate(timeout=30)
    assert second.returncode == 0
    assert output.splitlines()[-1] == "[]"
    assert "Warning" not in complaints
    assert queries.count_runs(context.engine) == 2
