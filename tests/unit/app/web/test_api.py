"""The addresses that other programs read: what they answer, and that every refusal is one
sentence."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sqlalchemy.exc import OperationalError

from ganboard.app.web import responses
from ganboard.db.models import Run
from ganboard.db.runs import annotations as run_annotations
from ganboard.db.runs import queries, reports
from ganboard.worker.context import Context
from ganboard.worker.interchange import export
from tests.cli import document
from tests.unit.app.web.answers import get, refused

MakeRun = Callable[..., Run]


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
    run = make_run(status="running", epochs=0, steps_per_epoch=3 * responses.LINES)
    losses = np.arange(3 * responses.LINES, dtype=np.float32)
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
