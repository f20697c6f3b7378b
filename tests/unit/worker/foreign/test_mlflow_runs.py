"""Runs of a real MLflow store (SQLite), read in."""

from __future__ import annotations

import contextlib
import io
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from mlflow import MlflowClient
from mlflow.entities import Metric, Param
from PIL import Image
from sqlmodel import Session, select

from ganboard.db.curves import logged
from ganboard.db.models import Grid
from ganboard.worker.context import Context
from ganboard.worker.foreign import mlflow_runs, storing
from ganboard.worker.foreign.mlflow_runs import NoRuns
from ganboard.worker.foreign.storing import Imported
from ganboard.worker.registry.mlflow_sync import MlflowSync, MlflowUnreachable
from tests.cli import ganboard
from tests.factories import make_run, png

# of MLflow's own tables
pytestmark = pytest.mark.filterwarnings("ignore::sqlalchemy.exc.SADeprecationWarning")
NOON = 1_700_000_000_000  # milliseconds


@pytest.fixture(scope="module")
def empty_store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store without runs: MLflow takes seconds for its schema. Its images go below the working
    directory of this moment."""
    path = tmp_path_factory.mktemp("mlflow") / "mlflow.db"
    with contextlib.chdir(path.parent):
        MlflowClient(f"sqlite:///{path}").search_experiments()
    return path


@pytest.fixture
def uri(empty_store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    shutil.copy(empty_store, tmp_path)
    return f"sqlite:///{tmp_path}/mlflow.db"


@pytest.fixture
def client(uri: str) -> MlflowClient:
    return MlflowClient(uri)


def tracked(client: MlflowClient, name: str, **metrics: float) -> str:
    """A run with a parameter of each kind, and metrics at steps 1 and 2."""
    run = client.create_run("0", start_time=NOON, run_name=name)
    params = {"lr": "0.1", "batch_size": "64", "xla": "True", "note": "text"}
    points = [
        Metric(key, value * step, NOON + 1000 * step, step)
        for key, value in metrics.items()
        for step in (1, 2)
    ]
    client.log_batch(run.info.run_id, points, [Param(*pair) for pair in params.items()])
    return str(run.info.run_id)


def read_in(context: Context, uri: str) -> list[Imported]:
    return [storing.store(context, name, "MLflow", one) for name, one in mlflow_runs.runs(uri)]


def epochs(context: Context, run_id: str) -> list[int]:
    with Session(context.engine) as session:
        return sorted(session.exec(select(Grid.epoch).where(Grid.run_id == run_id)))


def test_parameters_metrics_times_and_ends(
    context: Context, client: MlflowClient, uri: str
) -> None:
    ends = {"FINISHED": "finished", "FAILED": "failed", "KILLED": "stopped", "RUNNING": "stopped"}
    for end in ends:
        run = tracked(client, f"a {end}", d_loss=1.5, psnr=20.0)
        if end != "RUNNING":
            client.set_terminated(run, end, NOON + 60_000)
    found = read_in(context, uri)
    assert {one.run.name: one.run.status for one in found} == {
        f"a {end}": status for end, status in ends.items()
    }
    first = found[0].run
    assert first.config == {"lr": 0.1, "batch_size": 64, "xla": True, "note": "text"}
    assert first.started_at is not None
    assert first.started_at.timestamp() == NOON / 1000
    assert (first.d_loss, first.step) == (3.0, 2)
    rows = [row for row in logged.rows(context.engine, first.id) if row[0] == "psnr"]
    assert rows == [("psnr", 1, NOON / 1000 + 1, 20.0), ("psnr", 2, NOON / 1000 + 2, 40.0)]
    (problem,) = [text for one in found for text in one.problems]
    assert "RUNNING" in problem


def test_images_by_their_steps(context: Context, client: MlflowClient, uri: str) -> None:
    run = tracked(client, "pictures", loss=1.0)
    client.log_image(run, np.zeros((8, 8, 3), np.uint8), key="sample", step=4)
    for name in ("epoch-0007.png", "notes.txt"):
        path = Path(name)
        path.write_bytes(png(1))
        client.log_artifact(run, str(path), "grids")
    found = read_in(context, uri)[0].run
    assert epochs(context, found.id) == [4, 7]


def test_what_ganboard_logged_there_comes_back(context: Context, uri: str) -> None:
    run = make_run(context, "mine", epochs=2, quality_every=1)
    MlflowSync(context, uri).round()
    back = read_in(context, uri)[0].run
    assert back.name == "mine"
    assert back.config["batch_size"] == run.config["batch_size"]
    assert {"g_loss", "quality/fid"} <= set(logged.names(context.engine, back.id))
    assert epochs(context, back.id) == [0, 1, 2]


def test_nothing_there(uri: str, client: MlflowClient) -> None:
    client.search_experiments()
    with pytest.raises(NoRuns, match="has no runs"):
        list(mlflow_runs.runs(uri))
    with pytest.raises(MlflowUnreachable, match="does not accept data"):
        list(mlflow_runs.runs("http://127.0.0.1:9"))


def test_the_command_imports_what_is_new(
    context: Context, client: MlflowClient, uri: str, monkeypatch: Any
) -> None:
    tracked(client, "first", loss=1.0)
    assert "Run" in ganboard("import", "mlflow", uri).stdout
    tracked(client, "second", loss=1.0)
    again = ganboard("import", "mlflow", uri)
    assert "second" in again.stdout
    assert "already exists" in again.stderr
    third = ganboard("import", "mlflow", uri, code=1)
    assert "already exists" in third.stderr


def test_a_picture_that_is_none(context: Context, client: MlflowClient, uri: str) -> None:
    run = tracked(client, "pictures", loss=1.0)
    buffer = io.BytesIO()
    Image.new("L", (4, 4)).save(buffer, "PNG")
    Path("grid-1.png").write_bytes(buffer.getvalue()[:40])
    client.log_artifact(run, "grid-1.png")
    (found,) = read_in(context, uri)
    assert any("1 image left out" in problem for problem in found.problems)
