"""What becomes of a run whose trainer processes end without a word, or cannot be started at all."""

from __future__ import annotations

import signal
import sys
from pathlib import Path

import psutil
import pytest

from ganboard.db.errors import LeaseLost
from ganboard.db.models import Run
from ganboard.db.runs import queries
from ganboard.gan.presets import load
from ganboard.worker.context import Context
from ganboard.worker.queue import trainers
from ganboard.worker.queue.job import train_here
from ganboard.worker.submission.submit import submit
from ganboard.worker.terminal.run_view import View
from tests.attempt import claimed

GROUP = {"strategy": "multi_worker", "replicas": 2}


def group_run(context: Context, **changes: object) -> Run:
    return submit(context, load("tiny", {**GROUP, **changes}), here=True)


def ended(context: Context, run: Run) -> Run:
    found = queries.get_run(context.engine, run.id)
    assert found is not None
    return found


def test_more_processes_than_the_machine_carries_are_not_started(
    context: Context, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trainers, "TRAINER", ("/nowhere/to/be/started",))
    run = group_run(context, replicas=1000, batch_size=1000, limit=1000)
    train_here(context, run.id, View())
    assert ended(context, run).status == "failed"
    error = ended(context, run).error
    assert error is not None
    assert "replicas=1000 needs 1000 processes" in error
    assert "strategy=mirrored" in error


@pytest.mark.thorough
def test_a_group_that_keeps_dying_is_restarted_together_and_given_up(
    context: Context, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    code = f"""
import os, time
from ganboard.gan.distributed import cluster
open(f'{tmp_path}/{{os.environ["TF_CONFIG"].count("127.0.0.1")}}-{{os.getpid()}}', 'w').close()
if cluster.rank():
    os.kill(os.getpid(), 9)
time.sleep(1000)
"""
    monkeypatch.setattr(trainers, "TRAINER", (sys.executable, "-c", code))
    run = group_run(context)
    train_here(context, run.id, View())
    found = ended(context, run)
    assert (found.status, found.attempt) == ("failed", 5)
    assert found.error is not None
    assert found.error.startswith("Rank 1 of 2 trainer processes was killed by SIGKILL")
    assert not any(psutil.pid_exists(int(path.name.split("-")[1])) for path in tmp_path.glob("2-*"))


def test_ctrl_c_stops_a_group_that_cannot_say_so_itself(
    context: Context, monkeypatch: pytest.MonkeyPatch
) -> None:
    code = """
import os, signal, time
from ganboard.gan.distributed import cluster
if cluster.rank() == 0:
    os.kill(os.getppid(), signal.SIGINT)
time.sleep(1000)
"""
    monkeypatch.setattr(trainers, "TRAINER", (sys.executable, "-c", code))
    before = signal.getsignal(signal.SIGINT)
    run = group_run(context)
    train_here(context, run.id, View())
    assert ended(context, run).status == "stopped"
    assert signal.getsignal(signal.SIGINT) is before


def test_a_run_that_another_has_is_left_alone(context: Context) -> None:
    run = group_run(context)
    claimed(context, run_id=run.id)
    with pytest.raises(LeaseLost, match="cannot be started"):
        train_here(context, run.id, View())
    assert ended(context, run).attempt == 1
