"""What crash tests share: how thorough they are, and trainers that meet their fate at named
points."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable

import pytest

from ganboard.db.models import Run
from ganboard.db.runs import queries
from ganboard.gan.presets import load
from ganboard.worker.context import Context
from ganboard.worker.queue import job, trainers
from ganboard.worker.submission.submit import submit
from ganboard.worker.terminal.run_view import View
from tests.crash import checker, trap

FULL = os.environ.get("GANBOARD_CRASH") == "full"  # many rounds, as in `make crash`
SMALL = {"dataset": "digits", "limit": 128, "batch_size": 32, "grid_size": 2, "snapshots": 0}


def hexes(context: Context, run: Run) -> list[tuple[str, str]]:
    """The losses of every epoch as texts that keep every bit."""
    return [
        (epoch.g_loss.hex(), epoch.d_loss.hex()) for epoch in queries.epochs(context.engine, run.id)
    ]


@pytest.fixture
def train(context: Context, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Run]:
    """Train a run here to its end, attempt after attempt; the nth attempt meets the nth of
    `traps`."""
    monkeypatch.setattr(trainers, "TRAINER", (sys.executable, "-m", "tests.crash.trap"))

    def trained(*traps: str, **settings: object) -> Run:
        monkeypatch.setenv(trap.TRAPS, json.dumps(traps))
        run = submit(context, load("tiny", {**SMALL, **settings}), here=True)
        job.train_here(context, run.id, View())
        found = queries.get_run(context.engine, run.id)
        assert found is not None
        return found

    return trained


def assert_same(context: Context, whole: Run, *disturbed: Run) -> None:
    """The disturbed runs ended as the whole one did, with the same losses to the bit, and nothing
    is amiss."""
    golden = hexes(context, whole)
    assert len(golden) == whole.config["epochs"]
    runs = (whole, *disturbed)
    expected = checker.Expected(
        {run.id: ("finished",) for run in runs}, golden={run.id: golden for run in runs}
    )
    checker.assert_none(context, expected)
