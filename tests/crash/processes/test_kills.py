"""kill -9 of every process on one run, one after the other: it ends finished, complete, and with
the same losses to the bit."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator

import psutil
import pytest

from ganboard.db import heartbeats
from ganboard.db.runs import queries
from ganboard.gan.presets import load
from ganboard.worker.context import Context
from ganboard.worker.submission.submit import submit
from tests.polling import wait_until
from tests.processes import below
from tests.up import ganboard_up

SETTINGS = {"limit": 512, "batch_size": 32, "epochs": 9, "grid_size": 2}


@pytest.fixture
def supervisor(context: Context) -> Iterator[psutil.Process]:
    with ganboard_up(context.settings.state, "--no-starter") as up:
        yield up.process


def progress(context: Context, run_id: str) -> int:
    run = queries.get_run(context.engine, run_id)
    assert run is not None
    assert run.status not in ("failed", "stopped"), run.error
    return run.step


def hexes(context: Context, run_id: str) -> list[tuple[int, str, str]]:
    return [
        (e.epoch, e.g_loss.hex(), e.d_loss.hex()) for e in queries.epochs(context.engine, run_id)
    ]


@pytest.mark.slow
@pytest.mark.thorough
def test_kill_anything_at_any_moment(context: Context, supervisor: psutil.Process) -> None:
    run = submit(context, load("tiny", SETTINGS), name="disturbed")
    steps_per_epoch = 512 // 32

    def worker() -> psutil.Process | None:
        return next(iter(below(supervisor, "ganboard.worker.queue.rq_worker")), None)

    def trainer() -> psutil.Process | None:
        return next(iter(below(supervisor, "ganboard.worker.training.trainer")), None)

    def horse() -> psutil.Process | None:
        child = trainer()
        return child.parent() if child else None

    def redis() -> psutil.Process | None:
        return next(iter(below(supervisor, "redis.sock")), None)

    killed: list[str] = []
    for name, find in (
        ("trainer", trainer),
        ("work-horse", horse),
        ("worker", worker),
        ("redis", redis),
    ):
        # in the middle of an epoch that this attempt itself has begun
        before = progress(context, run.id)
        wait_until(
            lambda before=before: (
                progress(context, run.id) > before
                and progress(context, run.id) % steps_per_epoch not in (0, 1)
            ),
            seconds=60,
            every=0.01,
            what=f"progress before killing the {name}",
        )
        victim = wait_until(find, seconds=10, what=f"the {name}")
        os.kill(victim.pid, signal.SIGKILL)
        killed.append(name)
    assert killed == ["trainer", "work-horse", "worker", "redis"]

    wait_until(
        lambda: queries.get_run(context.engine, run.id).status == "finished",
        seconds=120,
        what="the end of the run",
    )  # type: ignore[union-attr]
    undisturbed = submit(context, load("tiny", SETTINGS), name="undisturbed")
    wait_until(
        lambda: queries.get_run(context.engine, undisturbed.id).status == "finished",
        seconds=120,
        what="the undisturbed run",
    )  # type: ignore[union-attr]

    assert [epoch for epoch, _, _ in hexes(context, run.id)] == list(
        range(1, SETTINGS["epochs"] + 1)
    )
    assert hexes(context, run.id) == hexes(context, undisturbed.id)
    texts = " ".join(event.text for event in queries.events(context.engine, run.id))
    assert "SIGKILL" in texts
    assert "The work-horse was killed by signal 9" in texts
    assert "The worker was killed" in texts
    assert "differ" not in texts
    # redis's death did not disturb the training
    assert queries.get_run(context.engine, run.id).attempt == 4


@pytest.mark.slow
@pytest.mark.thorough
def test_killing_the_supervisor_leaves_no_process(context: Context) -> None:
    home = context.settings.state
    with ganboard_up(home, "--no-starter", code=-signal.SIGKILL) as up:
        run = submit(context, load("tiny", {**SETTINGS, "epochs": 100}))
        wait_until(lambda: progress(context, run.id) > 2, seconds=60, what="the first steps")
        below = up.process.children(recursive=True)
        assert len(below) >= 5, "redis, web, worker, work-horse, trainer"
        up.process.kill()
    assert not psutil.wait_procs(below, timeout=20)[1]
    stored = queries.get_run(context.engine, run.id)
    assert stored is not None
    assert stored.status == "suspended"
    assert heartbeats.workers(context.engine) == []
    with ganboard_up(home, "--no-starter"):
        wait_until(
            lambda: progress(context, run.id) > stored.step,
            seconds=60,
            what="the run going on by itself",
        )
