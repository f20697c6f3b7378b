"""Real worker groups of two trainer processes, from the command line as people start them."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil
import pytest

from ganboard.db.models import Run
from ganboard.db.runs import queries
from ganboard.gan.presets import load
from ganboard.gan.verification import equivalence
from ganboard.worker.context import Context
from ganboard.worker.queue import trainers
from ganboard.worker.queue.job import train_here
from ganboard.worker.selftest.selftest import difference
from ganboard.worker.submission.submit import submit
from ganboard.worker.terminal.run_view import View
from ganboard.worker.training import process_group
from ganboard.worker.training.process_group import Ended, ProcessGroup
from tests.polling import wait_until
from tests.processes import below

pytestmark = pytest.mark.slow

SETTINGS = ["strategy=multi_worker", "replicas=2", "limit=512", "epochs=4", "grid_size=2"]
STARTED = 20  # steps after which to disturb: in the second epoch, with a checkpoint behind


@contextmanager
def training(*more: str) -> Iterator[subprocess.Popen[str]]:
    script = "from ganboard.worker.cli.main import app; app()"
    options = [word for setting in (*SETTINGS, *more) for word in ("--set", setting)]
    command = [sys.executable, "-c", script, "train", "--preset", "tiny", "--json", *options]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def ranks(process: subprocess.Popen[str]) -> list[psutil.Process]:
    """The trainer processes, in the order of their start, which is that of their ranks."""
    return below(psutil.Process(process.pid), "ganboard.worker.training.trainer")


def outcome(process: subprocess.Popen[str], code: int) -> dict[str, Any]:
    output, errors = process.communicate(timeout=280)
    assert process.returncode == code, errors[-3000:]
    found: dict[str, Any] = json.loads(output)
    return found


def under_way(context: Context) -> bool:
    runs = queries.list_runs(context.engine)
    return bool(runs) and runs[0].step >= STARTED


def losses(run: dict[str, Any]) -> list[tuple[int, str, str]]:
    return [(epoch["epoch"], epoch["g_loss_hex"], epoch["d_loss_hex"]) for epoch in run["epochs"]]


@pytest.mark.thorough
@pytest.mark.parametrize("more", [(), ("average_every=3", "sync_batch_norm=false")])
def test_a_group_that_lost_a_process_resumes_together_with_the_same_losses_to_the_bit(
    context: Context, more: tuple[str, ...]
) -> None:
    with training(*more) as process:
        undisturbed = outcome(process, 0)
    assert undisturbed["status"] == "finished"
    assert [epoch for epoch, _, _ in losses(undisturbed)] == [1, 2, 3, 4]
    assert undisturbed["attempt"] == 1

    with training("epochs=4", *more) as process:
        wait_until(
            lambda: queries.count_runs(context.engine) == 2 and under_way(context),
            seconds=200,
            what="the second epoch",
        )
        first = ranks(process)
        assert len(first) == 2
        os.kill(first[1].pid, signal.SIGKILL)
        assert not psutil.wait_procs(first, timeout=process_group.GRACE_SECONDS + 20)[1], (
            "the others are ended as well"
        )
        disturbed = outcome(process, 0)
    assert disturbed["attempt"] == 2
    assert losses(disturbed) == losses(undisturbed)
    texts = " ".join(event.text for event in queries.events(context.engine, disturbed["id"]))
    assert "Rank 1 of 2 trainer processes was killed by SIGKILL" in texts
    assert "differ" not in texts
    steps = Path(disturbed["directory"], "checkpoints")
    assert sorted(path.name.split("-")[2] for path in steps.iterdir()) == sorted(
        path.name.split("-")[2] for path in steps.glob("ckpt-*")
    )


@pytest.mark.parametrize(("signum", "everyone"), [(signal.SIGINT, True), (signal.SIGTERM, False)])
@pytest.mark.thorough
def test_a_signal_stops_all_of_them_after_the_same_step(
    context: Context, signum: signal.Signals, everyone: bool
) -> None:
    with training("epochs=1000") as process:
        wait_until(lambda: under_way(context), seconds=200, what="the second epoch")
        all_of_them = ranks(process)
        # a terminal sends Ctrl-C to every process of the group
        for one in (process, *(all_of_them if everyone else [])):
            one.send_signal(signum)
        stopped = outcome(process, 3)
    assert stopped["status"] == "stopped"
    assert not psutil.wait_procs(all_of_them, timeout=5)[1]
    newest = queries.checkpoints(context.engine, stopped["id"])
    assert max(checkpoint.step for checkpoint in newest) >= STARTED


@pytest.mark.thorough
def test_one_that_never_joins_is_named_and_nothing_is_left(
    context: Context, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        trainers, "TRAINER", (sys.executable, "-m", "tests.integration.worker_group", "1", "2")
    )
    monkeypatch.setattr(process_group, "GRACE_SECONDS", 1)
    run = submit(context, load("tiny", {"strategy": "multi_worker", "replicas": 2}), here=True)
    train_here(context, run.id, View())
    failed: Run | None = queries.get_run(context.engine, run.id)
    assert failed is not None
    assert failed.status == "failed"
    assert failed.error is not None
    assert "rank 1 of 2 trainer processes did not join" in failed.error
    assert "fewer replicas" in failed.error
    assert "Traceback" not in context.settings.log_path(run.id).read_text()
    assert not below(psutil.Process(), "tests.integration.worker_group")


@pytest.mark.thorough
@pytest.mark.parametrize("loop", ["custom", pytest.param("fit", marks=pytest.mark.thorough)])
def test_two_processes_compute_what_two_replicas_in_one_do(tmp_path: Path, loop: str) -> None:
    # large enough for a wrong factor to show
    rates = {"optimizer": "sgd", "g_learning_rate": 0.01, "d_learning_rate": 0.01}
    settings = {
        "dataset": "digits",
        "batch_size": 32,
        "limit": 96,
        "epochs": 1,
        "grid_size": 1,
        "replicas": 2,
        **rates,
    }

    def state(name: str, size: int, **changes: str) -> Any:
        command = [
            sys.executable,
            "-m",
            "ganboard.gan.verification.equivalence",
            json.dumps({**settings, **changes}),
            str(tmp_path / name),
            str(tmp_path),
        ]
        with (
            (tmp_path / f"{name}.log").open("w") as log,
            ProcessGroup(command, size, output=log) as started,
        ):
            assert started.wait() == Ended(0, 0), (tmp_path / f"{name}.log").read_text()[-3000:]
        return equivalence.state(tmp_path / name)

    apart = state("apart", 2, strategy="multi_worker", loop=loop)
    # float32 sums in another order, by other numbers of threads: 1.7e-6 was seen on a busy machine
    assert difference(apart, state("mirrored", 1, strategy="mirrored")) < 1e-5
