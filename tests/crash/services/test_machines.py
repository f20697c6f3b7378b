"""Two machines with one database and one queue: a run stays with the one that has its checkpoints,
and nothing is redone silently."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from ganboard.db import heartbeats
from ganboard.db.errors import NotAllowed
from ganboard.db.models import ENDED, Run
from ganboard.db.runs import checkpoint_reports, commands, holders, queries
from ganboard.gan.checkpoint import reader, store
from ganboard.gan.presets import load
from ganboard.gan.progress import Progress
from ganboard.worker.context import Context, open_context
from ganboard.worker.process import machine
from ganboard.worker.process.redis_server import socket_url
from ganboard.worker.queue.enqueue import enqueue_run
from ganboard.worker.submission.submit import resume, submit
from tests.crash import checker
from tests.crash.conftest import FULL, SMALL, hexes
from tests.crash.services.machines import SHORT_WORKER, Machine, machines, stored, texts
from tests.crash.services.postgres import binaries, postgres
from tests.crash.short_trainer import HOLD
from tests.polling import wait_until


def with_checkpoint(context: Context, owner: Machine, step: int = 12) -> Run:
    """A suspended run whose only checkpoint is on the disk of `owner`."""
    run = commands.create_run(
        context.engine, name="a run", config=load("tiny", SMALL).model_dump(mode="json")
    )
    own = {"run_id": run.id, "attempt": 1}
    assert commands.claim(context.engine, run_id=run.id, worker="before")
    folder = owner.settings.run_dir(run.id) / "checkpoints"
    saved = store.save(
        folder, {"g/0": np.ones(9, np.float32)}, Progress(step, 3), digest="d", attempt=1
    )
    checkpoint_reports.add_checkpoint(
        context.engine, **own, **vars(saved), keep=3, machine=machine.name(owner.settings)
    )
    commands.finish(context.engine, **own, status="suspended")
    return run


@pytest.fixture
def pair(
    context: Context, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[list[Machine]]:
    monkeypatch.setenv("GANBOARD_REDIS_URL", socket_url(context.settings))
    with machines(context, tmp_path, "a", "b", GANBOARD_MACHINE_WAIT="4") as made:
        yield made


@pytest.mark.slow
@pytest.mark.thorough
def test_a_run_waits_for_the_machine_with_its_checkpoint_then_ends_and_asks(
    context: Context, pair: list[Machine]
) -> None:
    a, b = pair
    run = with_checkpoint(context, a)
    name = machine.name(a.settings)
    b.start(SHORT_WORKER)
    wait_until(lambda: heartbeats.workers(context.engine), seconds=180, what="the worker of B")
    enqueue_run(context.redis(), run)  # whoever takes it
    wait_until(
        lambda: stored(context, run).phase == holders.AWAITING, seconds=180, what="the waiting"
    )
    assert (
        holders.awaited(context.engine, stored(context, run), 4).reason
        == f"Waiting for machine {name}, which has the checkpoint of step 12"
    )  # type: ignore[union-attr]
    wait_until(
        lambda: stored(context, run).status == "failed", seconds=180, what="the end of the waiting"
    )

    ended = stored(context, run)
    assert ended.attempt == 1
    assert ended.error is not None
    assert ended.error.startswith(
        f"The checkpoint of step 12 is on machine {name}, which was unavailable for 4 s. Start a"
        " worker there"
    )
    assert [(one.step, one.machine) for one in queries.checkpoints(context.engine, run.id)] == [
        (12, name)
    ]

    a.start(SHORT_WORKER)
    wait_until(
        lambda: len(heartbeats.workers(context.engine)) == 2, seconds=180, what="the worker of A"
    )
    resume(context, run.id)
    wait_until(
        lambda: stored(context, run).status == "finished",
        seconds=180,
        what="the end of the run on A",
    )
    assert any(
        text.startswith("Attempt 2 started on") and name.rpartition("-")[2] in text
        for text in texts(context, run)
    )


@pytest.mark.slow
@pytest.mark.thorough
def test_equal_host_names_are_no_harm(context: Context, pair: list[Machine]) -> None:
    a, b = pair
    (a.home / HOLD).touch()
    run = commands.create_run(
        context.engine, name="a run", config=load("tiny", SMALL).model_dump(mode="json")
    )
    a.start(SHORT_WORKER)
    wait_until(
        lambda: stored(context, run).status == "running", seconds=180, what="the training on A"
    )
    b.start(SHORT_WORKER)
    wait_until(
        lambda: len(heartbeats.workers(context.engine)) == 2,
        seconds=180,
        what="two workers with names of their own",
    )
    assert (stored(context, run).status, stored(context, run).attempt) == ("running", 1)
    (a.home / HOLD).unlink()
    wait_until(
        lambda: stored(context, run).status == "finished", seconds=180, what="the end of the run"
    )
    assert stored(context, run).attempt == 1


@pytest.mark.slow
@pytest.mark.thorough
def test_a_lost_machine_is_given_up_on_request_only(context: Context, pair: list[Machine]) -> None:
    a, b = pair
    run = with_checkpoint(context, a)
    commands.request_stop(context.engine, run_id=run.id)
    with pytest.raises(
        NotAllowed,
        match=f"no checkpoint on machine 'mistyped'; they are on {machine.name(a.settings)}",
    ):
        commands.resume(context.engine, run_id=run.id, without="mistyped")
    commands.resume(context.engine, run_id=run.id, without=machine.name(a.settings))
    assert queries.checkpoints(context.engine, run.id) == []
    assert texts(context, run)[-2].startswith("Gave up the checkpoints on machine")
    b.start(SHORT_WORKER)
    wait_until(
        lambda: stored(context, run).status == "finished",
        seconds=180,
        what="the end of the run on B",
    )


@pytest.mark.slow
@pytest.mark.thorough
@pytest.mark.timeout(1800)
@pytest.mark.skipif(binaries() is None, reason="PostgreSQL's programs are not installed")
def test_a_machine_is_killed_and_comes_back(
    home: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    with postgres() as server:
        monkeypatch.setenv("GANBOARD_DATABASE_URL", server.url)
        context = open_context()
        with machines(context, tmp_path, "a", "b", GANBOARD_MACHINE_WAIT="600") as (a, b):
            settings = load("tiny", {**SMALL, "epochs": 400 if FULL else 30, "keep_checkpoints": 2})
            run = submit(context, settings, name="disturbed")
            a.start()
            wait_until(
                lambda: stored(context, run).epoch >= 3, seconds=400, what="the first epochs on A"
            )
            a.kill()
            before = stored(context, run)
            listed = [
                (one.step, one.machine) for one in queries.checkpoints(context.engine, run.id)
            ]
            b.start()
            wait_until(
                lambda: stored(context, run).phase == holders.AWAITING,
                seconds=120,
                what="the waiting for A",
            )
            whole = submit(context, settings, name="undisturbed")  # B has time for others
            wait_until(
                lambda: stored(context, whole).status in ENDED, seconds=600, what="another run on B"
            )
            assert stored(context, whole).status == "finished", texts(context, whole)
            waiting = stored(context, run)
            assert (waiting.status, waiting.attempt, waiting.step) == (
                "queued",
                before.attempt,
                before.step,
            )
            assert [
                (one.step, one.machine) for one in queries.checkpoints(context.engine, run.id)
            ] == listed
            a.start()
            wait_until(
                lambda: stored(context, run).status in ENDED, seconds=600, what="the end on A"
            )
            ended = stored(context, run)
            assert ended.status == "finished", texts(context, run)
            assert ended.attempt > before.attempt
            assert hexes(context, ended) == hexes(context, stored(context, whole))
            said = texts(context, run)
            assert any(text.startswith("Resumed after epoch") for text in said)
            assert not any("differ" in text or text.startswith("Lost") for text in said)
            on_a = [
                (one.step, one.attempt, one.digest)
                for one in queries.checkpoints(context.engine, run.id)
            ]
            assert reader.verify(a.settings.run_dir(run.id) / "checkpoints", on_a) == {}
            rows = [
                *checker._rows(context.engine, a.settings, ended, checker.Expected({})),
                *checker._attempts(context.engine, a.settings, ended, checker.Expected({})),
            ]
            assert rows == []
        context.engine.dispose()
        assert os.environ["GANBOARD_DATABASE_URL"] == server.url
