"""Runs shown in MLflow, on a store of its own making (SQLite): all of it, once, again after an
unavailable server, and never in a training's way."""

from __future__ import annotations

import math
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ganboard.db.models import Run
from ganboard.db.runs import commands, evaluations, queries, reports
from ganboard.db.settings import SettingsError
from ganboard.gan.settings.features import FACT
from ganboard.worker.context import Context
from ganboard.worker.registry import mlflow_sync
from ganboard.worker.registry.mlflow_sync import MlflowSync, MlflowUnreachable
from tests.cli import ganboard
from tests.polling import wait_until

# of MLflow's own tables
pytestmark = pytest.mark.filterwarnings("ignore::sqlalchemy.exc.SADeprecationWarning")
MakeRun = Callable[..., Run]


@pytest.fixture
def uri(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)  # MLflow puts images below the working directory
    return f"sqlite:///{tmp_path}/mlflow.db"


def shown(uri: str, run: Run) -> Any:
    client = mlflow_sync.client(uri)
    experiment = client.get_experiment_by_name(mlflow_sync.EXPERIMENT)
    (found,) = client.search_runs(
        [experiment.experiment_id], f"tags.`{mlflow_sync.RUN_TAG}` = '{run.id}'"
    )
    return found


def course(uri: str, run: Run, name: str) -> dict[int, float]:
    return {
        metric.step: metric.value
        for metric in mlflow_sync.client(uri).get_metric_history(shown(uri, run).info.run_id, name)
    }


def test_a_run_is_shown_whole(context: Context, make_run: MakeRun, uri: str) -> None:
    run = make_run("digits <b>", epochs=3, quality_every=1, preset="tiny")
    assert MlflowSync(context, uri).round() == 1
    found, stored = shown(uri, run), queries.epochs(context.engine, run.id)
    assert (found.info.run_name, found.info.status) == ("digits <b>", "FINISHED")
    assert found.data.params == {name: str(value) for name, value in run.config.items()}
    assert found.data.tags["ganboard.preset"] == "tiny"
    assert course(uri, run, "g_loss") == {epoch.epoch: epoch.g_loss for epoch in stored}
    assert course(uri, run, "compute_seconds") == {
        epoch.epoch: epoch.measures["compute_seconds"] for epoch in stored
    }
    assert course(uri, run, "quality/fid") == {
        evaluated.epoch: evaluated.measures["fid"]
        for evaluated in queries.qualities(context.engine, run.id)
    }
    images = mlflow_sync.client(uri).list_artifacts(found.info.run_id, "grids")
    assert [image.path for image in images] == [
        f"grids/epoch-{epoch:04d}.png" for epoch in range(4)
    ]


def test_numbers_of_other_features_have_other_names(
    context: Context, make_run: MakeRun, uri: str
) -> None:
    run = make_run("a", epochs=1, quality_every=1, facts={FACT: f"encoder {'0' * 16}"})
    MlflowSync(context, uri).round()
    metrics = shown(uri, run).data.metrics
    assert {"quality/fid_encoder", "quality/kid_encoder", "quality/class_distance"} <= set(metrics)
    assert "quality/fid" not in metrics


def test_what_is_new_is_logged_once_by_any_sync(
    context: Context, make_run: MakeRun, uri: str
) -> None:
    run = make_run("live", status="running", epochs=2)
    first = MlflowSync(context, uri)
    assert first.round() == 1
    assert first.round() == 0
    assert shown(uri, run).info.status == "RUNNING"
    own = {"run_id": run.id, "attempt": run.attempt}
    figures = dict.fromkeys(("seconds", "compile_seconds"), 1.0) | {
        "g_path": (0.0, 0.0),
        "d_path": (0.0, 0.0),
    }
    reports.finish_epoch(
        context.engine,
        **own,
        epoch=3,
        steps=4,
        images=128,
        g_loss=math.nan,
        d_loss=0.5,
        measures={},
        **figures,
    )
    second = MlflowSync(context, uri)
    assert second.round() == 1
    assert math.isnan(course(uri, run, "g_loss")[3])
    assert sorted(course(uri, run, "d_loss")) == [1, 2, 3]
    commands.finish(
        context.engine,
        **own,
        status="failed",
        error="The disk is full: free some space, then resume.",
    )
    # the first logs epoch 3 again, which changes nothing
    assert (first.round(), second.round()) == (1, 1)
    assert sorted(course(uri, run, "d_loss")) == [1, 2, 3]
    assert (
        len(mlflow_sync.client(uri).get_metric_history(shown(uri, run).info.run_id, "d_loss")) == 3
    )
    assert shown(uri, run).info.status == "FAILED"
    assert shown(uri, run).data.tags["ganboard.error"].startswith("The disk is full")


@pytest.mark.thorough
def test_a_server_that_is_down_is_said_and_waited_for(
    context: Context, make_run: MakeRun, uri: str
) -> None:
    make_run("waits")
    with pytest.raises(
        MlflowUnreachable,
        match=(
            r"^MLflow at http://127\.0\.0\.1:9 does not accept data \(.*\)\."
            r" Check that it is running; training continues\.$"
        ),
    ):
        MlflowSync(context, "http://127.0.0.1:9").round()
    assert (
        "MLflow at http://127.0.0.1:9 does not accept data"
        in ganboard("mlflow-sync", "--to", "http://127.0.0.1:9", "--once", code=1).stderr
    )
    assert ganboard("mirror", "--to", uri, "--once").stderr.count("ganboard:") == 0
    assert mlflow_sync.client(uri).get_experiment_by_name(mlflow_sync.EXPERIMENT)


@pytest.mark.parametrize("name", ["", "nowhere://x"])
def test_addresses_that_are_none(
    context: Context, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(
        SettingsError,
        match=(r"Set GANBOARD_MLFLOW_URI" if not name else r"^MLflow at nowhere://x cannot"),
    ):
        mlflow_sync.main(name, once=True)


@pytest.mark.thorough
def test_a_sync_in_a_process_of_its_own_ends_when_asked(
    context: Context, make_run: MakeRun, uri: str
) -> None:
    run = make_run("beside", status="running", epochs=1)
    # two processes that make MLflow's tables at once are in each other's way
    mlflow_sync.client(uri).search_experiments()
    environment = {**os.environ, "GANBOARD_MLFLOW_URI": uri}
    with subprocess.Popen(
        [sys.executable, "-m", "ganboard.worker.registry.mlflow_sync"],
        env=environment,
        stderr=subprocess.PIPE,
    ) as process:
        try:
            wait_until(lambda: _is_shown(uri, run), seconds=60, what="the run in MLflow")
            process.send_signal(signal.SIGTERM)
            assert process.wait(30) == 0
        finally:
            process.kill()


def _is_shown(uri: str, run: Run) -> bool:
    try:
        return shown(uri, run).info.status == "RUNNING"
    except (AttributeError, ValueError):
        return False


def test_an_evaluation_after_the_end_is_logged(
    context: Context, make_run: MakeRun, uri: str
) -> None:
    run = make_run("evaluated later", epochs=3)
    sync = MlflowSync(context, uri)
    sync.round()
    assert sync.round() == 0
    evaluations.add(
        context.engine,
        run_id=run.id,
        attempt=run.attempt,
        epoch=3,
        seconds=1.0,
        preparation_seconds=0.0,
        training_seconds=6.0,
        measures={"fid": 7.5},
        histogram=[],
        facts={},
    )
    assert sync.round() == 1
    assert course(uri, run, "quality/fid") == {3: 7.5}
    assert sync.round() == 0
