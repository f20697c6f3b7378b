"""`ganboard train`: a real training in a process of its own, whose stdout is one JSON document."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.thorough
@pytest.mark.slow
def test_train_prints_the_finished_run_and_nothing_else(home: Path) -> None:
    script = "from ganboard.worker.cli.main import app; app()"
    trained = subprocess.run(
        [sys.executable, "-c", script, "train", "--preset", "tiny", "--json"],
        capture_output=True,
        text=True,
        timeout=200,
    )
    assert trained.returncode == 0, trained.stderr
    run = json.loads(trained.stdout)
    assert run["status"] == "finished"
    assert [epoch["epoch"] for epoch in run["epochs"]] == [1, 2]
    assert all(float.fromhex(epoch["g_loss_hex"]) == epoch["g_loss"] for epoch in run["epochs"])
    assert run["hardware"]["versions"]["tensorflow"]
    assert list(Path(run["directory"], "checkpoints").iterdir())
    log = Path(run["log"]).read_text()
    ended = f"Run {run['id']} attempt 1: finished"
    for line in ("INFO compiling", "INFO epoch 1/2: G", "INFO checkpoint of step 8", ended):
        assert log.count(line) == 1, log
    assert ended not in trained.stderr
