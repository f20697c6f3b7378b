"""Trainers that take long to start, or never do: neither is a death, and neither lasts for ever."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import psutil
import pytest
from redis import Redis
from sqlmodel import col, update

from ganboard.app.run.status import activity
from ganboard.db import heartbeats
from ganboard.db.clock import now
from ganboard.db.engine import writing
from ganboard.db.errors import NotAllowed
from ganboard.db.heartbeats import WorkerState
from ganboard.db.models import Run
from ganboard.db.runs import commands, queries, reports
from ganboard.db.runs.commands import LEASE_SECONDS, START_LEASE_SECONDS
from ganboard.gan.events import Phase
from ganboard.gan.presets import load
from ganboard.worker.context import Context
from ganboard.worker.queue import trainers
from ganboard.worker.queue.job import train_here
from ganboard.worker.submission.submit import submit
from ganboard.worker.terminal.one_run import print_run
from ganboard.worker.terminal.run_view import Lines, State, View
from ganboard.worker.training import start
from ganboard.worker.training.lease import Lease
from ganboard.worker.training.start import PHASES, Start
from tests.crash.conftest import SMALL
from tests.polling import wait_until
from tests.processes import below
from tests.up import ganboard_up

NEVER = (sys.executable, "-c", "import time; time.sleep(1000)  # never starts", "trainer of a test")
SLOW = """
import sys, time
if "ganboard.worker.training.trainer" in sys.orig_argv:
    time.sleep({seconds})
"""


@pytest.fixture
def never(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Trainers that load nothing; none of them is left behind."""
    monkeypatch.setattr(trainers, "TRAINER", NEVER)
    yield
    assert not below(psutil.Process(), NEVER[-1])


def queued(context: Context, **changes: object) -> Run:
    return submit(context, load("tiny", {**SMALL, **changes}), here=True)


def read(context: Context, run: Run) -> Run:
    found = queries.get_run(context.engine, run.id)
    assert found is not None
    return found


def texts(context: Context, run: Run) -> list[str]:
    return [event.text for event in queries.events(context.engine, run.id, limit=None)]


def train_while(context: Context, run: Run, act: Callable[[], None]) -> None:
    """Train in the main thread, which signals need, while `act` runs in another; the run is stopped
    after it."""

    def acts() -> None:
        try:
            act()
        finally:
            with suppress(NotAllowed):
                commands.request_stop(context.engine, run_id=run.id)

    with ThreadPoolExecutor(1) as pool:
        acting = pool.submit(acts)
        train_here(context, run.id, View())
        acting.result()


def await_renewal(context: Context, run: Run) -> None:
    claimed = wait_until(lambda: read(context, run).lease_until, seconds=20, what="the claim")
    wait_until(
        lambda: (read(context, run).lease_until or claimed) > claimed, seconds=60, what="a renewal"
    )


def test_the_lease_is_renewed_while_a_trainer_starts_and_a_stop_is_obeyed(
    context: Context, never: None
) -> None:
    run = queued(context)
    train_while(context, run, lambda: await_renewal(context, run))
    found = read(context, run)
    assert (found.status, found.attempt, found.failures) == ("stopped", 1, 0)
    assert texts(context, run)[0] == "Stopped."


@pytest.mark.thorough
def test_the_processes_of_a_group_start_slowly_together(context: Context, never: None) -> None:
    run = queued(context, strategy="multi_worker", replicas=2)

    def act() -> None:
        await_renewal(context, run)
        assert len(below(psutil.Process(), NEVER[-1])) == 2

    train_while(context, run, act)
    assert (read(context, run).status, read(context, run).attempt) == ("stopped", 1)


def test_a_trainer_that_never_starts_is_given_up(
    context: Context, never: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(start, "START_SECONDS", 0.5)
    run = queued(context)
    train_here(context, run.id, View())
    found = read(context, run)
    assert (found.status, found.attempt) == ("failed", 3)
    assert (
        found.error
        == "The trainer did not load TensorFlow within 10 min. The machine may be overloaded; 3"
        " times in a row without finishing an epoch. Check the log, then resume."
    )


@pytest.mark.thorough
def test_a_trainer_whose_run_another_has_taken_does_not_start(
    context: Context, never: None
) -> None:
    run = queued(context)

    def act() -> None:
        await_renewal(context, run)
        with writing(context.engine) as session:
            session.execute(update(Run).where(col(Run.id) == run.id).values(lease_until=now(-1)))
        heir = commands.claim(context.engine, run_id=run.id, worker="another")
        if heir is None:  # a renewal came between
            return act()
        wait_until(
            lambda: not below(psutil.Process(), NEVER[-1]),
            seconds=60,
            what="the end of the trainer",
        )
        commands.finish(context.engine, run_id=run.id, attempt=heir.attempt, status="finished")
        return None

    train_while(context, run, act)
    assert (read(context, run).status, read(context, run).attempt) == ("finished", 2)


def test_once_tensorflow_is_loaded_the_trainer_alone_holds_the_lease(context: Context) -> None:
    run = queued(context)
    claim = commands.claim(context.engine, run_id=run.id, worker="test")
    assert claim is not None
    with Start(context.engine, claim, lambda: pytest.fail("it was ended")) as watching:
        reports.set_phase(context.engine, run_id=run.id, attempt=1, phase="importing")
        await_renewal(context, run)
        reports.set_phase(context.engine, run_id=run.id, attempt=1, phase="loading")
        watching.join(20)
        assert not watching.is_alive()
    assert watching.outcome == ""


def seconds_left(context: Context, run: Run) -> float:
    until = read(context, run).lease_until
    assert until is not None
    return (until - queries.database_time(context.engine)).total_seconds()


def test_the_trainer_renews_from_the_first_event_after_the_import(context: Context) -> None:
    run = queued(context)
    assert commands.claim(context.engine, run_id=run.id, worker="test")
    claimed = read(context, run).lease_until
    holding = Lease(context.engine, run.id, 1)
    holding.take_over(Phase("importing"))
    assert not holding.is_alive()
    holding.take_over(Phase("loading"))
    wait_until(lambda: read(context, run).lease_until != claimed, seconds=60, what="a renewal")
    assert seconds_left(context, run) > LEASE_SECONDS
    holding.take_over(Phase("training"))
    wait_until(
        lambda: seconds_left(context, run) <= LEASE_SECONDS, seconds=60, what="a lease of training"
    )
    holding.release()
    Lease(context.engine, run.id, 1).release()  # one that never began: the import failed


def test_a_slow_start_is_shown_as_such(
    context: Context, capsys: pytest.CaptureFixture[str]
) -> None:
    run = queued(context)
    assert commands.claim(context.engine, run_id=run.id, worker="test")

    def shown(seconds: float) -> tuple[str, str]:
        with writing(context.engine) as session:
            session.execute(
                update(Run)
                .where(col(Run.id) == run.id)
                .values(phase="importing", phase_since=now(-seconds))
            )
        found = read(context, run)
        print_run(context, found, [], [], [])
        on_the_page = activity(found, ahead=0, workers=1, now=queries.database_time(context.engine))
        return on_the_page, capsys.readouterr().out

    page, terminal = shown(5.2)
    assert re.fullmatch(r"Importing TensorFlow for 5\.\d s\.", page)
    assert "starting (loading TensorFlow, 5." in terminal
    page, terminal = shown(40.2)
    assert re.fullmatch(
        r"Importing TensorFlow for 4\d s \(slow start; the limit is 10 min\)\.", page
    )
    assert re.search(
        r"starting \(loading TensorFlow, 4\d s \(slow start; the limit is 10 min\)\)", terminal
    )


def test_following_says_once_that_a_start_is_slow(capsys: pytest.CaptureFixture[str]) -> None:
    view = Lines()
    for phase, seconds in (
        ("starting", 1.0),
        ("starting", 15.4),
        ("starting", 16.0),
        ("importing", 1.0),
        ("importing", 20.0),
    ):
        view.show(State(phase=phase, starting=seconds))
    assert capsys.readouterr().out.splitlines() == [
        "starting ...",
        "starting the trainer, 15 s (slow start; the limit is 10 min)",
        "importing ...",
        "loading TensorFlow, 20 s (slow start; the limit is 10 min)",
    ]


@pytest.mark.slow
@pytest.mark.thorough
def test_an_import_of_a_minute_is_no_death(
    context: Context, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seconds = 1.5 * START_LEASE_SECONDS
    (tmp_path / "sitecustomize.py").write_text(SLOW.format(seconds=seconds))
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    with ganboard_up(context.settings.state, "--no-starter"):
        run = submit(context, load("tiny", SMALL))
        wait_until(lambda: read(context, run).status == "finished", seconds=400, what="the end")
    found = read(context, run)
    assert (found.attempt, found.failures) == (1, 0)
    assert found.started_at is not None
    assert found.ended_at is not None
    assert (found.ended_at - found.started_at).total_seconds() > seconds


@pytest.mark.slow
@pytest.mark.thorough
@pytest.mark.timeout(900)
def test_many_starts_at_once_are_no_death(context: Context, redis: Redis) -> None:
    """On a machine that they keep busy for minutes, at the lowest priority."""
    number = 8
    command = ["nice", "-n", "19", sys.executable, "-m", "ganboard.worker.queue.rq_worker"]
    workers = [subprocess.Popen(command, start_new_session=True) for _ in range(number)]
    try:
        wait_until(lambda: len(alive(context)) == number, seconds=300, what="the workers")
        runs = [submit(context, load("tiny", {**SMALL, "epochs": 1})) for _ in range(number)]

        def started() -> bool:
            found = [read(context, run) for run in runs]
            assert {run.failures for run in found} == {0}, [texts(context, run) for run in runs]
            return all(run.attempt == 1 and run.phase not in PHASES for run in found)

        wait_until(started, seconds=500, every=1, what="TensorFlow in all trainers")
    finally:
        for worker in workers:
            worker.kill()
            worker.wait()


def alive(context: Context) -> list[WorkerState]:
    return [worker for worker in heartbeats.workers(context.engine) if worker.alive]
