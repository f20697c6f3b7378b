"""`ganboard.start`: what reaches the database, and that nothing ever reaches the training."""

from __future__ import annotations

import logging
import math
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ganboard
from ganboard.db.curves import logged, series
from ganboard.db.models import Run
from ganboard.db.runs import commands, queries
from ganboard.worker.context import Context
from ganboard.worker.external import importing, script
from ganboard.worker.external.collector import QUEUE
from tests.polling import wait_until

LIGHT = """
import sys, ganboard
run = ganboard.start("light", offline=sys.argv[1])
run.log(1, loss=0.5)
run.finish()
print([name for name in ("tensorflow", "keras", "torch") if name in sys.modules])
"""
KILLED = """
import os, signal, sys, time, ganboard
run = ganboard.start("killed")
run.log(1, loss=0.5)
time.sleep(4)
os.kill(os.getpid(), signal.SIGKILL)
"""
CAUGHT = """
import ganboard
run = ganboard.start("breaks")
run.log(1, loss=0.5)
raise {error}
"""


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(script, "EVERY", 0.05)
    monkeypatch.chdir(tmp_path)  # where files go


def stored(context: Context, run_id: str) -> Run:
    run = queries.get_run(context.engine, run_id)
    assert run is not None
    return run


def events(context: Context, run_id: str) -> list[str]:
    return [event.text for event in queries.events(context.engine, run_id, limit=None)]


def points(context: Context, run_id: str, name: str) -> dict[int, float]:
    rows = logged.rows(context.engine, run_id)
    return {step: value for metric, step, _, value in rows if metric == name}


def test_everything_that_a_script_tells_is_stored(context: Context, tmp_path: Path) -> None:
    config = {"batch_size": 8, "adam": {"lr": np.float32(0.5)}, "shape": [1, 2], "none": None}
    with ganboard.start("all of it", config, steps_per_epoch=10) as run:
        run.images(0, np.zeros((4, 8, 8)))
        for step in range(1, 11):
            run.histogram(step, weights=np.arange(step), deep=[[math.nan, 1.0]])
            run.log(step, g_loss=np.float32(step), d_loss=1, fid=math.nan if step == 3 else 2.5)
        run.epoch(1, val_loss=0.25)
        run.images(1, np.linspace(-1, 1, 5 * 8 * 8 * 3).reshape(5, 8, 8, 3))
        run.note("halfway", "warning")
        print("a line", file=run)
    found = stored(context, run.id)
    assert (found.status, found.step, found.epoch, found.name) == ("finished", 10, 1, "all of it")
    assert found.config == {"batch_size": 8, "adam.lr": 0.5, "shape": "[1, 2]", "none": None}
    assert found.hardware is not None
    assert found.hardware["cores"] > 0
    assert series.step_losses(context.engine, run.id)["g_loss"].tolist() == list(range(1, 11))
    fid = points(context, run.id, "fid")
    assert math.isnan(fid[3])
    assert fid[4] == 2.5
    assert points(context, run.id, "val_loss") == {10: 0.25}
    spread = logged.histograms(context.engine, run.id, "weights")
    assert [(one.step, one.counts.sum()) for one in spread] == [(n, n) for n in range(1, 11)]
    assert (spread[9].edges[0], spread[9].edges[-1]) == (0, 9)
    assert logged.histogram_names(context.engine, run.id) == ["deep", "weights"]
    epoch = queries.epochs(context.engine, run.id)[0]
    assert (epoch.g_loss, epoch.d_loss, epoch.steps, epoch.images) == (5.5, 1.0, 10, 80)
    assert queries.grid_epochs(context.engine, run.id) == [0, 1]
    assert queries.samples(context.engine, run.id)[0].rss_bytes > 0
    assert "halfway" in events(context, run.id)
    assert context.settings.log_path(run.id).read_text() == "a line\n"
    assert not list(tmp_path.glob("*.jsonl"))


@pytest.mark.usefixtures("home")
def test_without_a_database_a_file_is_recorded_and_said(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with ganboard.start("nobody there") as run:
        run.log(1, loss=0.5)
    path = tmp_path / f"run-{run.id}.ganboard.jsonl"
    assert importing.is_recording(path)
    assert f"This run is recorded in {path}; `ganboard import` reads it." in caplog.text


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"name": ""}, "name='' is not a text of 1 to 80 characters"),
        ({"name": 7}, "name='7' is not"),
        ({"config": [1]}, "config is a list. Pass a mapping"),
        ({"config": {"x" * 81: 1}}, "names have 1 to 80 characters"),
        ({"config": {str(n): n for n in range(501)}}, "config has 501 entries; the limit is 500"),
        ({"steps_per_epoch": 0}, "steps_per_epoch=0 is not"),
        ({"url": "ftp://x"}, "is not an address such as https://"),
        ({"url": "http://host.example", "token": "x"}, "is not encrypted"),
        ({"url": "http://127.0.0.1:9"}, "needs a token"),
        ({"offline": "/proc/nowhere/file"}, "cannot be written"),
    ],
)
@pytest.mark.usefixtures("home")
def test_nonsense_is_refused_before_the_training(given: dict[str, Any], said: str) -> None:
    with pytest.raises(ganboard.StartError, match=said):
        ganboard.start(**({"name": "x"} | given))


def test_nothing_is_raised_and_everything_odd_is_said_once(
    context: Context, caplog: pytest.LogCaptureFixture
) -> None:
    run = ganboard.start("odd")
    for _ in range(3):
        run.log(5, loss="0.5", accuracy=None, image=np.zeros((2, 2)), good=1.0)
        run.log(2, good=2.0)
        run.log(-1, good=1.0)
        run.log("five", good=1.0)  # type: ignore[arg-type]
        run.images(1, "picture")
        run.histogram(1, empty=[math.nan])
        run.histogram(-1, weights=[1.0])
        run.images(1, np.zeros((0, 8, 8)))
        run.epoch(0)
        run.note("x", "loud")  # type: ignore[arg-type]
    run.finish("gone")  # type: ignore[arg-type]
    run.finish()
    run.log(9, good=9.0)
    assert points(context, run.id, "good") == {5: 1.0, 2: 2.0}
    assert logged.names(context.engine, run.id) == ["good"]
    for sentence in (
        "Metric loss is a str; only numbers are kept.",
        "Metric accuracy is a NoneType; only numbers are kept.",
        "Metric image is a ndarray; only numbers are kept.",
        "Step -1 is not a number from 0",
        "Step 2 was logged after step 5.",
        "Images of shape () cannot be drawn",
        "a histogram needs at least one finite value",
        "epoch 0 is not a number from 1",
        "Values logged after finish are not stored.",
    ):
        assert caplog.text.count(sentence) == 1, sentence
    assert any("Metric loss is a str" in text for text in events(context, run.id))


def test_a_flood_of_calls_is_bounded_and_its_losses_are_counted(
    context: Context, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(script, "EVERY", 0.5)
    calls = 20 * QUEUE
    with ganboard.start("flood") as run:
        for step in range(calls):
            run.log(step, loss=0.5)
        assert len(run._collector.points) <= QUEUE
    kept = points(context, run.id, "loss")
    assert max(kept) == calls - 1
    said = [text for text in events(context, run.id) if "calls of log were dropped" in text]
    assert f"{calls - len(kept):,} calls of log were dropped" in said[0]


def test_images_of_any_size_become_a_grid(context: Context) -> None:
    with ganboard.start("large") as run:
        run.images(1, np.zeros((64, 3, 1024, 1024), np.uint8))
    grid = queries.grid(context.engine, run.id, 1)
    assert grid is not None
    assert (grid.rows, grid.columns) == (8, 8)
    assert "Images are reduced 4 times to fit into 2048 pixels per side." in events(context, run.id)


def test_a_database_that_is_away_delays_reports_and_loses_none(
    context: Context, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    database = context.settings.state / "ganboard.db"
    away = database.with_name("away.db")
    with ganboard.start("outage") as run:
        run.log(1, loss=1.0)
        wait_until(lambda: points(context, run.id, "loss"), seconds=10)
        context.engine.dispose()
        database.rename(away)
        run.log(2, loss=2.0)
        wait_until(lambda: "Training goes on" in caplog.text, seconds=10)
        run.log(3, loss=3.0)
        (journal,) = tmp_path.glob("*.jsonl")  # so that a crash loses nothing either
        away.rename(database)
        wait_until(lambda: "nothing was lost" in caplog.text, seconds=20)
    assert points(context, run.id, "loss") == {1: 1.0, 2: 2.0, 3: 3.0}
    assert stored(context, run.id).status == "finished"
    assert not journal.exists()


def test_what_cannot_be_delivered_until_the_end_is_imported(
    context: Context, caplog: pytest.LogCaptureFixture
) -> None:
    database = context.settings.state / "ganboard.db"
    run = ganboard.start("no return")
    run.log(1, loss=1.0)
    wait_until(lambda: points(context, run.id, "loss"), seconds=10)
    context.engine.dispose()
    database.rename(database.with_name("away.db"))
    run.log(2, loss=2.0)
    run.finish(seconds=0.3)
    database.with_name("away.db").rename(database)
    assert "Run `ganboard import" in caplog.text
    found = importing.read_in(context, Path(f"run-{run.id}.ganboard.jsonl"))
    assert found.run.status == "finished"
    assert points(context, run.id, "loss") == {1: 1.0, 2: 2.0}


def test_stop_reaches_the_script(context: Context) -> None:
    with ganboard.start("stop me") as run:
        assert not run.should_stop
        commands.request_stop(context.engine, run_id=run.id)
        wait_until(lambda: run.should_stop, seconds=10)
    assert stored(context, run.id).status == "stopped"


def test_a_deleted_run_ends_the_reports_and_not_the_training(
    context: Context, caplog: pytest.LogCaptureFixture
) -> None:
    with ganboard.start("deleted") as run:
        commands.finish(context.engine, run_id=run.id, attempt=1, status="stopped")
        commands.delete_run(context.engine, run_id=run.id)
        run.log(1, loss=1.0)
        wait_until(lambda: "There is no run" in caplog.text, seconds=10)
        run.log(2, loss=1.0)
    assert queries.get_run(context.engine, run.id) is None


@pytest.mark.parametrize(
    ("error", "status", "said"),
    [
        ("ValueError('shapes do not match')", "failed", "ValueError: shapes do not match"),
        pytest.param("KeyboardInterrupt", "stopped", None, marks=pytest.mark.thorough),
        pytest.param("SystemExit(0)", "finished", None, marks=pytest.mark.thorough),
    ],
)
def test_the_end_of_a_script_is_the_end_of_its_run(
    context: Context, error: str, status: str, said: str | None
) -> None:
    subprocess.run(
        [sys.executable, "-c", CAUGHT.format(error=error)], check=False, capture_output=True
    )
    run = queries.find_run(context.engine, "latest")
    assert (run.status, run.error, run.step) == (status, said, 1)


@pytest.mark.thorough
def test_a_killed_script_leaves_a_lease_that_runs_out(context: Context) -> None:
    subprocess.run([sys.executable, "-c", KILLED], check=False)
    run = queries.find_run(context.engine, "latest")
    assert (run.status, run.step) == ("running", 1)
    assert run.lease_until is not None
    left = (run.lease_until - queries.database_time(context.engine)).total_seconds()
    assert 20 < left <= 30


def test_the_sdk_loads_no_framework(tmp_path: Path) -> None:
    said = subprocess.check_output([sys.executable, "-c", LIGHT, str(tmp_path)], text=True)
    assert said == "[]\n"


def test_a_broken_machine_measure_is_only_a_warning(
    context: Context, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken() -> Any:
        raise OSError("no /proc")

    monkeypatch.setattr(script, "_sampler", broken)
    with caplog.at_level(logging.WARNING), ganboard.start("unmeasured") as run:
        run.log(1, loss=1.0)
    assert caplog.text.count("The machine cannot be measured: no /proc.") == 1
    assert points(context, run.id, "loss") == {1: 1.0}
