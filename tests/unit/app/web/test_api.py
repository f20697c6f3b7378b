"""The addresses that other programs read: what they answer, and that every refusal is one
sentence."""

from __future__ import annotations

import csv
import io
import json
import tempfile
import zipfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import anyio
import numpy as np
import pytest
from PIL import Image
from sqlalchemy.exc import OperationalError
from starlette.applications import Starlette

from ganboard.app.web import api
from ganboard.db.models import Run
from ganboard.db.runs import annotations as run_annotations
from ganboard.db.runs import queries, reports
from ganboard.gan.checkpoint import store
from ganboard.gan.progress import Progress
from ganboard.worker.context import Context
from ganboard.worker.interchange import export
from tests.cli import document
from tests.factories import HOSTILE_NAMES, png

MakeRun = Callable[..., Run]
APP = Starlette(routes=api.ROUTES)


@dataclass
class Answer:
    status: int = 0
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b""
    parts: int = 0

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def rows(self) -> list[dict[str, str]]:
        return list(csv.DictReader(io.StringIO(self.body.decode(), newline="")))

    @property
    def files(self) -> zipfile.ZipFile:
        return zipfile.ZipFile(io.BytesIO(self.body))


def get(address: str, method: str = "GET") -> Answer:
    """What the application answers to a browser."""
    parts, answer = urlsplit(address), Answer()
    scope = {
        "type": "http", "method": method, "path": unquote(parts.path),
        "raw_path": parts.path.encode(), "root_path": "", "scheme": "http",
        "query_string": parts.query.encode(), "headers": [(b"host", b"127.0.0.1")],
        "server": ("127.0.0.1", 80), "http_version": "1.1",
    }  # fmt: skip

    async def receive() -> dict[str, Any]:
        await anyio.sleep_forever()
        raise AssertionError

    async def send(message: Any) -> None:
        if message["type"] == "http.response.start":
            answer.status, answer.headers = (
                message["status"],
                {k.decode(): v.decode() for k, v in message["headers"]},
            )
        else:
            answer.body += message.get("body", b"")
            answer.parts += bool(message.get("body"))

    # beside tests in a browser this one has an event loop already
    with ThreadPoolExecutor(1) as thread:
        thread.submit(anyio.run, APP, scope, receive, send).result()
    return answer


def refused(address: str, status: int) -> str:
    """The sentence of a refusal."""
    answer = get(address)
    assert (answer.status, answer.headers["content-type"], set(answer.json)) == (
        status,
        "application/json",
        {"error"},
    )
    sentence = answer.json["error"]
    assert sentence.endswith(".")
    assert "Traceback" not in sentence
    return str(sentence)


def listed(query: str = "") -> list[str]:
    return [run["name"] for run in get(f"/api/runs?{query}").json]


def test_runs_are_filtered_as_on_the_command_line(context: Context, make_run: MakeRun) -> None:
    assert listed() == []
    for name, status in (("one", "finished"), ("two", "failed"), ("three", "queued")):
        make_run(name, status=status, seed=len(name))
    old = make_run("old")
    run_annotations.archive(context.engine, run_ids=[old.id])
    assert listed() == ["three", "two", "one"]
    assert listed("status=failed&status=queued") == ["three", "two"]
    assert listed("search=%2F%5Et%2F") == ["three", "two"]  # not `t`, with which an id may begin
    assert listed("search=seed%3D5") == ["three"]
    assert listed("limit=1") == ["three"]
    assert listed("archived=true") == ["old"]
    assert get("/api/runs").json[2].keys() >= {
        "id",
        "name",
        "status",
        "config",
        "tags",
        "note",
        "g_loss_hex",
    }


def test_bad_filters_are_refused(context: Context) -> None:
    for query, sentence in (
        ("status=gone", "'gone' is not a state: choose from queued"),
        ("limit=0", "limit='0' is not a whole number from 1 to 1000."),
        ("limit=99999999999999", "limit="),
        ("limit=-1", "limit="),
        ("limit=%C2%B2", "limit="),
        ("archived=maybe", "neither true nor false"),
        ("offset=3", "There is no filter 'offset'"),
        ("search=%22open", "Unbalanced"),
        ("search=" + "x" * 5000, "the limit is 200"),
    ):
        assert sentence in refused(f"/api/runs?{query}", 400)


def test_a_run_is_what_show_prints(make_run: MakeRun) -> None:
    run = make_run("shown", quality_every=1)
    answer = get(f"/api/runs/{run.id}")
    assert answer.headers["content-type"] == "application/json"
    assert answer.json == document("show", run.id)
    assert get("/api/runs/latest").json["id"] == get(f"/api/runs/{run.id[:8]}").json["id"] == run.id


def test_malformed_and_unknown_runs_are_refused(make_run: MakeRun) -> None:
    make_run()
    strange = (
        "nosuchrun",
        "..",
        "%2e%2e",
        "A",
        "a" * 33,
        "a b",
        "%00",
        "'or'1",
        "<script>",
        "%F0%9F%98%80",
        "*",
        "..%2f..%2fetc",
    )
    for asked in strange:
        for rest in ("", "/epochs.csv", "/grids/0.png", "/export.zip", "/model"):
            refused(f"/api/runs/{asked}{rest}", 404)


@pytest.mark.thorough
def test_ambiguous_beginnings_are_refused(context: Context, make_run: MakeRun) -> None:
    ids = {make_run().id[:1] for _ in range(40)}
    sentences = {get(f"/api/runs/{beginning}").json.get("error", "") for beginning in ids}
    assert any("More than one run id starts with" in sentence for sentence in sentences)


def test_tables_are_those_of_the_export(
    context: Context, make_run: MakeRun, tmp_path: Path
) -> None:
    run = make_run("=tables", epochs=3, quality_every=1)
    reports_of = {
        name: get(f"/api/runs/{run.id}/{name}")
        for name in ("epochs.csv", "losses.csv", "quality.csv", "events.csv")
    }
    export.export(context, run, tmp_path / "out")
    for name, answer in reports_of.items():
        assert answer.headers["content-type"].startswith("text/csv")
        assert answer.headers["content-disposition"] == f'attachment; filename="{run.id}-{name}"'
        assert answer.body == (tmp_path / "out" / name.replace("losses", "steps")).read_bytes()
    assert reports_of["epochs.csv"].rows[0]["name"] == "'=tables"
    assert reports_of["events.csv"].rows[0]["text"] == "Submitted."
    assert "choose from epochs.csv" in refused(f"/api/runs/{run.id}/secrets.csv", 404)
    assert "choose from epochs.csv" in refused(f"/api/runs/{run.id}/..%5c", 404)


def test_every_step_has_its_times(make_run: MakeRun) -> None:
    run = make_run(epochs=2, steps_per_epoch=4, seconds_per_epoch=2.0)
    rows = get(f"/api/runs/{run.id}/losses.csv").rows
    assert [float(row["training_seconds"]) for row in rows] == [0.5, 1, 1.5, 2, 2.5, 3, 3.5, 4]
    assert all(row["time"].endswith("Z") and row["time"].startswith("20") for row in rows)
    assert [row["time"] for row in rows] == sorted(row["time"] for row in rows)


def test_long_tables_are_sent_in_parts(context: Context, make_run: MakeRun) -> None:
    run = make_run(status="running", epochs=0, steps_per_epoch=3 * api.LINES)
    losses = np.arange(3 * api.LINES, dtype=np.float32)
    reports.append_steps(
        context.engine, run_id=run.id, attempt=1, epoch=1, first=0, g_losses=losses, d_losses=losses
    )
    answer = get(f"/api/runs/{run.id}/losses.csv")
    assert answer.parts == 4
    assert [float(row["g_loss"]) for row in answer.rows] == losses.tolist()


def test_runs_without_epochs_have_empty_tables(make_run: MakeRun) -> None:
    for status in ("queued", "starting", "running"):
        without_epochs(make_run(status=status, epochs=0, grids=False))


def without_epochs(run: Run) -> None:
    for name in ("epochs.csv", "losses.csv", "quality.csv"):
        answer = get(f"/api/runs/{run.id}/{name}")
        assert (answer.status, answer.rows) == (200, [])
        assert answer.body.startswith((b"run_id", b"step"))
    assert f"Run {run.id} has no checkpoint on this machine" in refused(
        f"/api/runs/{run.id}/model", 404
    )
    assert "run.json" in "".join(get(f"/api/runs/{run.id}/export.zip").files.namelist())


def test_losses_that_are_not_finite_keep_their_names(context: Context, make_run: MakeRun) -> None:
    run = make_run(status="running", epochs=0, steps_per_epoch=4)
    losses = np.array([np.nan, np.inf, -np.inf], np.float32)
    reports.append_steps(
        context.engine, run_id=run.id, attempt=1, epoch=1, first=0, g_losses=losses, d_losses=losses
    )
    assert [row["g_loss"] for row in get(f"/api/runs/{run.id}/losses.csv").rows] == [
        "nan",
        "inf",
        "-inf",
    ]
    assert get(f"/api/runs/{run.id}").json["g_loss"] is None


def test_grids_are_pictures_that_may_be_kept(context: Context, make_run: MakeRun) -> None:
    run = make_run(epochs=2)
    address = f"/api/runs/{run.id}/grids/1.png"
    stored = queries.grid(context.engine, run.id, 1)
    assert stored is not None
    fixed, loose, other = get(f"{address}?attempt=1"), get(address), get(f"{address}?attempt=2")
    assert fixed.body == loose.body == other.body == stored.png
    assert "immutable" in fixed.headers["cache-control"]
    assert loose.headers["cache-control"] == other.headers["cache-control"] == "no-cache"
    with (
        Image.open(io.BytesIO(stored.png)) as small,
        Image.open(io.BytesIO(get(f"{address}?scale=3").body)) as large,
    ):
        assert large.size == (3 * small.width, 3 * small.height)
        assert np.array_equal(np.asarray(large)[::3, ::3], np.asarray(small))


def test_real_images_are_the_grid_of_epoch_minus_one(context: Context, make_run: MakeRun) -> None:
    run = make_run(status="running")
    assert (
        refused(f"/api/runs/{run.id}/grids/-1.png", 404) == f"Run {run.id} has no grid of epoch -1."
    )
    reports.add_grid(
        context.engine, run_id=run.id, attempt=1, epoch=-1, rows=4, columns=4, png=png(1)
    )
    assert get(f"/api/runs/{run.id}/grids/-1.png").body == png(1)


def test_grids_that_are_not_there_are_refused(make_run: MakeRun) -> None:
    run = make_run()
    for epoch in (
        "99",
        "-2",
        "999999999",
        "9999999999",
        "1e1",
        "x",
        "1.0",
        "+1",
        "%C2%B2",
        "%20",
        "1;2",
    ):
        answer = get(f"/api/runs/{run.id}/grids/{epoch}.png")
        assert answer.status in (400, 404)
        assert set(answer.json) == {"error"}
    for scale in ("0", "17", "-1", "x", "1e9"):
        assert "from 1 to 16" in refused(f"/api/runs/{run.id}/grids/0.png?scale={scale}", 400)


def test_everything_in_one_file(context: Context, make_run: MakeRun, tmp_path: Path) -> None:
    run = make_run(HOSTILE_NAMES[0], epochs=2, quality_every=1)
    answer = get(f"/api/runs/{run.id}/export.zip")
    assert answer.headers["content-disposition"] == f'attachment; filename="{run.id}.zip"'
    written = export.export(context, run, tmp_path / "out")
    files = answer.files
    assert sorted(files.namelist()) == sorted(
        f"{run.id}/{path.relative_to(tmp_path / 'out')}" for path in written
    )
    for path in written:
        assert files.read(f"{run.id}/{path.relative_to(tmp_path / 'out')}") == path.read_bytes()


def checkpoint(context: Context, run: Run, step: int = 12) -> Path:
    directory = context.settings.run_dir(run.id) / "checkpoints"
    arrays = {"generator/dense": np.arange(6, dtype=np.float32)}
    store.save(directory, arrays, Progress(step=step), digest="d", attempt=1)
    return directory / f"ckpt-{step}-1"


def test_the_newest_model_with_words_on_how_to_load_it(context: Context, make_run: MakeRun) -> None:
    run = make_run()
    checkpoint(context, run, 4)
    newest = checkpoint(context, run, 12)
    answer = get(f"/api/runs/{run.id}/model")
    assert answer.headers["content-disposition"] == f'attachment; filename="{run.id}-model.zip"'
    assert sorted(answer.files.namelist()) == [
        "README.txt",
        "config.json",
        "manifest.json",
        "state.npz",
    ]
    assert answer.files.read("state.npz") == (newest / "state.npz").read_bytes()
    assert json.loads(answer.files.read("config.json")) == run.config
    words = answer.files.read("README.txt").decode()
    assert f"run {run.id}, saved after step 12." in words
    assert "{name: state[name] for name in nets.arrays()}" in words


def test_a_model_that_vanishes_meanwhile(context: Context, make_run: MakeRun) -> None:
    run = make_run()
    (checkpoint(context, run) / "state.npz").unlink()
    assert "replaced by a newer one during the export. Try again." in refused(
        f"/api/runs/{run.id}/model", 404
    )


def test_nothing_is_left_behind(
    context: Context, make_run: MakeRun, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = make_run()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    (tmp_path / "temporary").mkdir()
    get(f"/api/runs/{run.id}/export.zip")
    refused(f"/api/runs/{run.id}/model", 404)
    assert list((tmp_path / "temporary").iterdir()) == []


def test_no_more_than_two_files_are_packed_at_once(make_run: MakeRun) -> None:
    run = make_run()
    with api._packing, api._packing:
        assert "Two ZIP files are already being created" in refused(
            f"/api/runs/{run.id}/export.zip", 503
        )
    assert get(f"/api/runs/{run.id}/export.zip").status == 200


def test_nothing_else_answers(context: Context) -> None:
    for address in ("/api/", "/api/nothing", "/api/runs/a/b/c", "/api/runs/a/grids/0.jpg"):
        refused(address, 404)
    assert get("/api/runs", "POST").status == 405
    assert get("/api/runs/latest", "DELETE").status == 405


def test_a_database_that_is_away_is_said(context: Context, monkeypatch: pytest.MonkeyPatch) -> None:
    def away(*args: Any) -> None:
        raise OperationalError("SELECT", {}, Exception("secret"))

    monkeypatch.setattr(queries, "find_run", away)
    assert refused("/api/runs/latest", 503).startswith("The database is unavailable")
