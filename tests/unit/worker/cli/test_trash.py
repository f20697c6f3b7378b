"""`ganboard delete`, `undelete` and `runs --trash`: real SQLite, no Redis, no TensorFlow."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from ganboard.db.models import Run
from ganboard.db.runs import queries, trash
from ganboard.worker.context import Context
from tests.cli import document, ganboard, on_a_terminal, refused

MakeRun = Callable[..., Run]


@pytest.fixture
def folder(make_run: MakeRun, context: Context) -> Path:
    """Of a run with files, which is named by its id."""
    path = context.settings.run_dir(make_run("the run").id)
    (path / "checkpoints").mkdir(parents=True)
    (path / "train.log").write_text("a line")
    return path


def test_a_deleted_run_is_in_the_trash_and_returns(folder: Path, make_run: MakeRun) -> None:
    other, run_id = make_run("another"), folder.name
    shown = document("show", run_id)
    said = ganboard("delete", run_id[:6]).stdout
    assert f"Moved run {run_id} (the run)" in said
    assert f"`ganboard undelete {run_id}`" in said
    assert [run["id"] for run in document("runs")] == [other.id]
    assert [run["id"] for run in document("runs", "--trash")] == [run_id]
    assert re.search(r"7 d|6 d 23 h", ganboard("runs", "--trash").stdout)
    assert f"Run {run_id} is in the trash" in refused("show", run_id)
    assert (folder / "train.log").read_text() == "a line"
    (restored,) = document("undelete", run_id[:6])
    assert (restored["id"], restored["deleted_at"]) == (run_id, None)
    changing = ("phase_seconds",)
    again = document("show", run_id)
    assert {k: v for k, v in again.items() if k not in changing} == {
        k: v for k, v in shown.items() if k not in changing
    }
    assert document("runs", "--trash") == []
    assert "The trash is empty." in ganboard("runs", "--trash").stdout


def test_deleting_as_json_says_when_it_is_removed(folder: Path, context: Context) -> None:
    answer = document("delete", folder.name, "--yes")
    stored = queries.get_run(context.engine, folder.name, trash_too=True)
    assert stored is not None
    assert stored.deleted_at is not None
    removed_at = trash.removed_at(stored.deleted_at)
    assert answer.pop("removed_at")[:19] == f"{removed_at:%Y-%m-%dT%H:%M:%S}"
    assert answer == {"id": folder.name, "name": "the run", "deleted": True}


def test_a_waiting_run_returns_as_stopped(make_run: MakeRun) -> None:
    run = make_run(status="queued")
    ganboard("delete", run.id)
    assert "it is stopped" in ganboard("undelete", run.id).stdout
    assert "queued again" in ganboard("resume", run.id).stdout


def test_the_trash_is_filtered_like_other_runs(make_run: MakeRun) -> None:
    first, second = make_run("alpha"), make_run("beta", status="failed")
    for run in (first, second):
        ganboard("delete", run.id)
    assert [one["id"] for one in document("runs", "--trash")] == [second.id, first.id]
    assert [one["id"] for one in document("runs", "--trash", "--search", "alp")] == [first.id]
    assert [one["id"] for one in document("runs", "--trash", "--status", "failed")] == [second.id]
    assert "1 of 2 runs" in ganboard("runs", "--trash", "--limit", "1").stdout
    assert "Choose one" in ganboard("runs", "--trash", "--archived", code=2).stderr


def test_only_runs_in_the_trash_are_restored(make_run: MakeRun) -> None:
    run = make_run()
    assert f"Run {run.id} is not in the trash." in refused("undelete", run.id)
    assert "There is no run 'nobody'" in refused("undelete", "nobody")


@pytest.mark.parametrize("in_trash", [False, True])
def test_permanent_deletion_needs_yes_without_a_terminal(folder: Path, in_trash: bool) -> None:
    run_id = folder.name
    if in_trash:
        ganboard("delete", run_id)
    assert "--yes" in refused("delete", run_id, "--permanently")
    assert folder.exists()
    assert document("delete", run_id, "--permanently", "--yes") == {
        "id": run_id,
        "name": "the run",
        "deleted": True,
        "removed_at": None,
        "files_left_on": [],
    }
    assert not folder.exists()
    assert "There is no run" in refused("show", run_id)
    assert "There is no run" in refused("undelete", run_id)


@pytest.mark.parametrize("options", [(), ("--permanently", "--yes")])
def test_a_run_that_trains_is_not_deleted(make_run: MakeRun, options: tuple[str, ...]) -> None:
    assert "Stop it" in refused("delete", make_run(status="running").id, *options)


@pytest.mark.parametrize(
    ("typed", "code", "deleted"), [(b"y\n", 0, True), (b"n\n", 1, False), (b"\x03", 130, False)]
)
def test_permanent_deletion_asks_on_a_terminal(
    make_run: MakeRun, context: Context, typed: bytes, code: int, deleted: bool
) -> None:
    run = make_run()
    arguments = ["delete", "--permanently", run.id]
    output, exit_code = on_a_terminal(arguments, after="[y/N]", typed=typed)
    assert exit_code == code, output
    assert (queries.get_run(context.engine, run.id) is None) == deleted
