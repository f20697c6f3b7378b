"""Redis or the database goes away in the middle of a training: it goes on, nothing that was
acknowledged is lost, and it recovers alone."""

from __future__ import annotations

import os
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from ganboard.db.engine import BUSY_MILLISECONDS
from ganboard.db.models import Run
from ganboard.db.runs import queries
from ganboard.gan.presets import load
from ganboard.worker.context import Context, open_context
from ganboard.worker.process import redis_server
from ganboard.worker.process.parent_death import environment_for_child
from ganboard.worker.submission.submit import submit
from tests.crash import checker
from tests.crash.conftest import FULL, SMALL, assert_same, hexes
from tests.crash.services.postgres import binaries, postgres
from tests.polling import wait_until
from tests.processes import below
from tests.up import Up, ganboard_up

# longer than a writer waits by itself, so that its refusals reach the trainer
LOCKED_SECONDS = BUSY_MILLISECONDS / 1000 + 3


def stored(context: Context, run: Run) -> Run:
    found = queries.get_run(context.engine, run.id)
    assert found is not None
    return found


def reaches(context: Context, run: Run, condition: Callable[[Run], bool], what: str) -> Run:
    wait_until(lambda: condition(stored(context, run)), seconds=180, what=what)
    return stored(context, run)


@contextmanager
def redis(context: Context) -> Iterator[subprocess.Popen[bytes]]:
    """Killed at the end, as hard as a power cut."""
    # it keeps nothing
    command = [part if part != "yes" else "no" for part in redis_server.command(context.settings)]
    with subprocess.Popen(
        command, stdout=subprocess.DEVNULL, env=environment_for_child()
    ) as server:
        path = redis_server.socket_path(context.settings)
        try:
            wait_until(path.exists, seconds=20, what="redis-server's socket")
            yield server
        finally:
            server.kill()
            path.unlink(missing_ok=True)


def workers(up: Up) -> list[psutil.Process]:
    """Not their work-horses, which are called the same."""
    return [
        worker
        for worker in below(up.process, "ganboard.worker.queue.rq_worker")
        if worker.parent() == up.process
    ]


@pytest.mark.slow
@pytest.mark.thorough
@pytest.mark.timeout(900)
def test_redis_goes_away_over_the_end_of_a_run_and_comes_back_empty(
    context: Context, monkeypatch: pytest.MonkeyPatch
) -> None:
    # so that nobody else starts it again
    monkeypatch.setenv("GANBOARD_REDIS_URL", redis_server.socket_url(context.settings))
    with redis(context) as server, ganboard_up(context.settings.state, "--no-starter") as up:
        runs = [
            submit(context, load("tiny", {**SMALL, "epochs": 30}), name=name)
            for name in ("over the end", "waiting")
        ]
        reaches(context, runs[0], lambda run: run.step > 8, "the first epochs")
        before = workers(up)
        server.kill()  # with the second run's message in it
        server.wait()
        runs.append(
            submit(context, load("tiny", {**SMALL, "epochs": 30}), name="submitted meanwhile")
        )
        reaches(
            context,
            runs[0],
            lambda run: run.status == "finished",
            "the end of the run without a queue",
        )
        if FULL:
            time.sleep(60)
        with redis(context):
            for run in runs:
                assert (
                    reaches(
                        context, run, lambda run: run.status == "finished", "the end of every run"
                    ).attempt
                    == 1
                )
            assert workers(up) == before
    assert_same(context, *(stored(context, run) for run in runs))


@contextmanager
def locked(context: Context) -> Iterator[None]:
    """Nobody else can write to SQLite."""
    with context.engine.execution_options(sqlite_lock="EXCLUSIVE").begin():
        yield


@pytest.mark.slow
@pytest.mark.thorough
@pytest.mark.timeout(900)
def test_a_locked_database_delays_nothing_but_the_rows(
    context: Context, train: Callable[..., Run]
) -> None:
    done: list[Run] = []
    training = threading.Thread(target=lambda: done.append(train(epochs=60, checkpoint_every=60)))
    # train_here handles signals and so belongs to the main thread: the lock is what runs beside it
    held = threading.Event()

    def hold() -> None:
        wait_until(
            lambda: any(run.step > 8 for run in queries.list_runs(context.engine)),
            seconds=120,
            what="the first epochs",
        )
        with locked(context):
            held.set()
            time.sleep(LOCKED_SECONDS)  # how long the fault lasts

    holder = threading.Thread(target=hold)
    holder.start()
    training.run()
    holder.join()
    assert held.is_set()
    [run] = done
    assert (run.status, run.attempt) == ("finished", 1)
    texts = [event.text for event in queries.events(context.engine, run.id, limit=None)]
    assert any("The database was unavailable for" in text for text in texts)
    checker.assert_none(context, checker.Expected({run.id: ("finished",)}))


@pytest.mark.slow
@pytest.mark.thorough
@pytest.mark.timeout(900)
@pytest.mark.skipif(binaries() is None, reason="PostgreSQL's programs are not installed")
def test_postgresql_is_killed_again_and_again(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with postgres() as server:
        monkeypatch.setenv("GANBOARD_DATABASE_URL", server.url)
        context = open_context()
        with ganboard_up(home, "--no-starter") as up:
            run = submit(
                context, load("tiny", {**SMALL, "epochs": 200 if FULL else 24}), name="disturbed"
            )
            for kill in range(20 if FULL else 3):
                before = stored(context, run)
                reaches(
                    context,
                    run,
                    lambda run, least=before.step + 6: run.step > least or run.status == "finished",
                    f"progress {kill}",
                )  # type: ignore[misc]
                server.stop()
                # the last time for longer than a lease, so that the run may have to change hands
                time.sleep(20 if FULL and kill == 19 else 0.5)
                server.start()
                context.engine.dispose()
            assert (
                reaches(
                    context,
                    run,
                    lambda run: run.status not in ("queued", "starting", "running"),
                    "the end",
                ).status
                == "finished"
            )
            whole = submit(
                context, load("tiny", {**SMALL, "epochs": run.config["epochs"]}), name="undisturbed"
            )
            reaches(context, whole, lambda run: run.status == "finished", "the undisturbed run")
            assert not up.said("ended with code"), (
                "a service ended while the database was unavailable"
            )
        golden = hexes(context, whole)
        ids = {run.id: ("finished",), whole.id: ("finished",)}
        checker.assert_none(context, checker.Expected(ids, golden=dict.fromkeys(ids, golden)))
        context.engine.dispose()
        assert os.environ["GANBOARD_DATABASE_URL"] == server.url
