"""A trainer that is frozen, loses its run to another, and thaws: it writes nothing more and ends.
One that hangs is started again."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress

import psutil
import pytest
from sqlmodel import col, update

from ganboard.db.clock import now
from ganboard.db.engine import writing
from ganboard.db.models import Run
from ganboard.db.runs import commands, expiry, queries
from ganboard.gan.presets import load
from ganboard.worker.context import Context
from ganboard.worker.submission.submit import submit
from ganboard.worker.training.lease import EXIT_LEASE_LOST
from tests.crash.conftest import FULL, SMALL, assert_same
from tests.polling import wait_until
from tests.processes import below
from tests.up import ganboard_up


def step(context: Context, run: Run) -> int:
    found = queries.get_run(context.engine, run.id)
    assert found is not None
    return found.step


def attempt(context: Context, run: Run) -> subprocess.Popen[bytes]:
    claim = commands.claim(context.engine, run_id=run.id, worker="test")
    assert claim is not None
    return subprocess.Popen(
        [
            sys.executable,
            "-m",
            "ganboard.worker.training.trainer",
            run.id,
            str(claim.attempt),
            "suspend",
        ]
    )


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("again", range(10 if FULL else 1))
@pytest.mark.thorough
def test_a_thawed_trainer_writes_nothing(
    context: Context, train: Callable[..., Run], again: int
) -> None:
    run = submit(context, load("tiny", {**SMALL, "epochs": 16}), here=True)
    with attempt(context, run) as zombie:
        wait_until(lambda: step(context, run) > 8, seconds=90, what="progress of the first trainer")
        zombie.send_signal(signal.SIGSTOP)
        with writing(context.engine) as session:  # fifteen seconds pass in the lease's eyes
            session.execute(update(Run).where(col(Run.id) == run.id).values(lease_until=now(-1)))
        assert expiry.expire_leases(context.engine) == [run.id]
        with attempt(context, run) as heir:
            wait_until(
                lambda: queries.get_run(context.engine, run.id).status == "running",
                seconds=90,
                what="the heir",
            )  # type: ignore[union-attr]
            thawed = time.monotonic()
            zombie.send_signal(signal.SIGCONT)
            assert zombie.wait(30) == EXIT_LEASE_LOST
            print(f"the zombie ended {time.monotonic() - thawed:.2f} s after it thawed")
            assert heir.wait(120) == 0
    found = queries.get_run(context.engine, run.id)
    assert found is not None
    assert_same(context, train(epochs=16), found)


@pytest.mark.slow
@pytest.mark.thorough
@pytest.mark.timeout(900)
def test_a_hung_trainer_is_started_again_once_then_given_up(
    context: Context, train: Callable[..., Run]
) -> None:
    hang = "ganboard.gan.training.runner.CustomLoop.epoch:3:before:hang"
    settings = {"epochs": 6, "stall_seconds": 8}
    once = train(hang, **settings)
    assert (once.status, once.attempt) == ("finished", 2)
    texts = [event.text for event in queries.events(context.engine, once.id, limit=None)]
    assert any("training stalled" in text for text in texts)
    [stalled] = [text for text in texts if text.startswith("No step has finished for 8 s")]
    assert re.search(r"The loop is in .*trapped \(trap\.py:\d+\) > fate \(trap\.py:\d+\)", stalled)
    assert "most recent call first" in context.settings.log_path(once.id).read_text()
    assert_same(context, train(epochs=6), once)
    always = "ganboard.gan.training.runner.CustomLoop.epoch:1:before:hang"
    twice = train(always, always, **settings)
    assert (twice.status, twice.attempt) == ("failed", 2)
    assert twice.error is not None
    assert "training stalled (stall_seconds); 2 times in a row" in twice.error


@pytest.mark.slow
@pytest.mark.thorough
@pytest.mark.timeout(900)
def test_a_worker_ends_a_frozen_trainer_and_works_on(context: Context) -> None:
    """With one worker nobody else could: the run would wait for ever behind its own corpse."""
    with ganboard_up(context.settings.state, "--no-starter") as up:
        run = submit(context, load("tiny", {**SMALL, "epochs": 60}))
        wait_until(lambda: step(context, run) > 20, seconds=90, what="the first epochs")
        [frozen] = below(up.process, "ganboard.worker.training.trainer")
        frozen.suspend()
        before, since = step(context, run), time.monotonic()
        wait_until(lambda: step(context, run) > before, seconds=120, what="the run going on")
        print(f"the run went on {time.monotonic() - since:.1f} s after its trainer froze")
        assert not psutil.pid_exists(frozen.pid)
        wait_until(
            lambda: queries.get_run(context.engine, run.id).status == "finished",
            seconds=120,
            what="the end",
        )  # type: ignore[union-attr]
        with suppress(ProcessLookupError):
            os.kill(frozen.pid, signal.SIGCONT)
