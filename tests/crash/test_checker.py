"""The checker of crash rounds finds what it is there for."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sqlalchemy import text

from ganboard.db.models import Run
from ganboard.db.runs import checkpoint_reports, commands, expiry, queries, reports
from ganboard.gan.checkpoint import store
from ganboard.gan.progress import Progress
from ganboard.worker.context import Context
from tests.crash.checker import Expected, assert_none, check
from tests.polling import wait_until

EPOCHS, STEPS = 3, 4
LAST = EPOCHS * STEPS


def trained(context: Context, *, attempts: int = 2) -> Run:
    """A finished run whose attempts but the last died after the first epoch, with its checkpoint on
    disk."""
    engine = context.engine
    run = commands.create_run(engine, name="a run", config={"epochs": EPOCHS, "batch_size": 8})
    for attempt in range(1, attempts + 1):
        assert commands.claim(engine, run_id=run.id, worker="w")
        own: dict[str, Any] = {"run_id": run.id, "attempt": attempt}
        size = {"examples": 32, "steps_per_epoch": STEPS, "g_parameters": 1, "d_parameters": 1}
        reports.set_started(engine, **own, hardware={}, start_step=0, **size)
        for epoch in range(1, EPOCHS + 1 if attempt == attempts else 2):
            g, d = np.random.default_rng(epoch).random((2, STEPS)).astype(np.float32)
            reports.append_steps(
                engine, **own, epoch=epoch, first=0, g_losses=g, d_losses=d, series={"g_rate": g}
            )
            g_loss, d_loss = (float(np.mean(values, dtype=np.float64)) for values in (g, d))
            figures = {
                "seconds": 1.0,
                "compile_seconds": 0.0,
                "g_path": (0.0, 0.0),
                "d_path": (0.0, 0.0),
            }
            reports.finish_epoch(
                engine,
                **own,
                epoch=epoch,
                steps=STEPS,
                images=32,
                g_loss=g_loss,
                d_loss=d_loss,
                **figures,
            )  # type: ignore[arg-type]
        if attempt < attempts:
            expiry.died(engine, **own, cause="It was killed")
    arrays = {"generator/kernel": np.arange(6, dtype=np.float32)}
    saved = store.save(
        folder(context, run), arrays, Progress(LAST, EPOCHS), digest="c", attempt=attempts
    )
    checkpoint_reports.add_checkpoint(engine, **own, **vars(saved), keep=3)
    commands.finish(engine, **own, status="finished")
    return run


def folder(context: Context, run: Run) -> Path:
    return context.settings.run_dir(run.id) / "checkpoints"


def golden(context: Context, run: Run) -> list[tuple[str, str]]:
    return [(row.g_loss.hex(), row.d_loss.hex()) for row in queries.epochs(context.engine, run.id)]


def test_a_round_without_loss_has_no_violations(context: Context) -> None:
    run = trained(context)
    assert_none(
        context,
        Expected({run.id: ("finished",)}, golden={run.id: golden(context, run)}, ports=(1,)),
    )
    assert check(context.settings, Expected({run.id: ("finished",)})) == []


DAMAGES = {
    "DELETE FROM epoch WHERE epoch = 2": "(b) its epochs are [1, 3]",
    "DELETE FROM epoch WHERE epoch = 3": "(b) it is finished with 2 rows",
    "UPDATE run SET step = step - 1": (
        "(b) it is finished with 3 rows of epochs, at epoch 3 and step 11"
    ),
    "DELETE FROM step_losses WHERE epoch = 1": "(b) epoch 1 has 4 steps and no losses",
    "UPDATE step_losses SET g_losses = x'0000803f' WHERE epoch = 2": (
        "(b) epoch 2 has 4 steps and 1 and 4 losses"
    ),
    "UPDATE step_losses SET d_losses = zeroblob(16) WHERE epoch = 2": (
        "(b) epoch 2 is not the mean of its steps"
    ),
    "UPDATE epoch SET g_loss = 0.25 WHERE epoch = 3": "(c) the losses of epoch 3 are",
    "DELETE FROM step_series WHERE epoch = 2": "(b) epoch 2 has the series []",
    "UPDATE step_series SET \"values\" = x'0000c07f0000c07f0000c07f0000c07f'": (
        "(b) epoch 1: g_rate has 4 values, 4 of them missing"
    ),
    "UPDATE event SET text = 'Attempt 1 started on w.' WHERE text LIKE 'Attempt 2 started%'": (
        "(d) attempts [1, 1] began"
    ),
    "UPDATE event SET attempt = 1 WHERE text = 'Finished.'": (
        "(d) attempt 1 wrote after attempt 2 had: 'Finished.'"
    ),
    "UPDATE epoch SET attempt = 1 WHERE epoch = 3": (
        "(d) its epochs were written by the attempts [2, 2, 1]"
    ),
    "UPDATE event SET text = 'Epoch 2 was trained again with different losses.'": (
        "(c) Epoch 2 was trained again"
    ),
    "UPDATE checkpoint SET digest = 'other'": (
        "(e) the listed checkpoint of step 12, attempt 2, does not load: manifest.json is not"
    ),
    "DELETE FROM checkpoint": "(e) it is finished at step 12, and listed are the steps []",
    "UPDATE run SET status = 'failed'": "(a) it is failed (no error), and the plan allows finished",
    "UPDATE run SET status = 'running'": "(a) it is running without a live lease",
    "UPDATE run SET worker = 'w'": "(a) it is finished and still belongs to w",
    "DELETE FROM run": "(g) 1 submitted runs are unknown",
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_every_damage_of_the_rows_is_found(context: Context, damage: str) -> None:
    run = trained(context)
    expected = Expected({run.id: ("finished",)}, golden={run.id: golden(context, run)})
    with context.engine.begin() as connection:
        connection.execute(text(damage))
    assert DAMAGES[damage] in "\n".join(check(context, expected))
    with pytest.raises(AssertionError, match="violations"):
        assert_none(context, expected)


def test_a_run_that_nobody_submitted_is_found(context: Context) -> None:
    run = commands.create_run(context.engine, name="a stranger", config={})
    assert check(context, Expected({})) == [
        f"(g) 1 runs are known that nobody submitted: {run.id}."
    ]


def test_a_damaged_file_and_a_missing_one_are_found(context: Context) -> None:
    run = trained(context)
    expected = Expected({run.id: ("finished",)})
    state = folder(context, run) / f"ckpt-{LAST}-2" / "state.npz"
    os.truncate(state, 100)
    assert "does not load: CheckpointError: state.npz is damaged" in "\n".join(
        check(context, expected)
    )
    state.parent.rename(state.parent.with_name("elsewhere"))
    assert "does not load: FileNotFoundError" in "\n".join(check(context, expected))


def old_temporary(home: Path) -> None:
    path = home / "a.tmp"
    path.touch()
    os.utime(path, (0, 0))


@pytest.mark.parametrize("how", ["temporary", "environment", "folder"])
def test_leftovers_are_found(context: Context, how: str, request: pytest.FixtureRequest) -> None:
    home = context.settings.state
    if how == "temporary":
        (home / "young.tmp").touch()
        old_temporary(home)
        assert ["a.tmp is left over" in words for words in check(context, Expected({}))] == [True]
        return
    own: dict[str, Any] = (
        {"cwd": home} if how == "folder" else {"env": {"GANBOARD_HOME": str(home)}, "cwd": "/"}
    )
    with subprocess.Popen(
        [sys.executable, "-c", "import time; print(flush=True); time.sleep(60)"],
        stdout=subprocess.PIPE,
        **own,
    ) as left:
        assert left.stdout
        left.stdout.readline()
        assert f"process {left.pid} is left over" in "\n".join(check(context, Expected({})))
        assert check(context, Expected({}, alive=(left.pid,))) == []
        left.kill()
    wait_until(lambda: not check(context, Expected({})), seconds=5, what="its end")


def test_a_port_that_still_answers_is_found(context: Context) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        assert check(context, Expected({}, ports=(port,))) == [
            f"(f) somebody still listens on port {port}."
        ]
    assert check(context, Expected({}, ports=(port,))) == []
