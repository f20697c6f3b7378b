"""The commands that list, show, stop and delete runs: real SQLite, no Redis, no TensorFlow."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from sqlalchemy import update

from ganboard.db.engine import writing
from ganboard.db.models import Artifact, Run
from ganboard.db.placement import artifacts
from ganboard.db.runs import checkpoint_reports, queries
from ganboard.worker.context import Context
from tests.attempt import claimed, finish_epoch
from tests.cli import document, ganboard, refused
from tests.factories import HARDWARE, HOSTILE_NAMES

MakeRun = Callable[..., Run]


def test_show_json_has_exact_losses(make_run: MakeRun, context: Context) -> None:
    run = make_run(epochs=3)
    shown = document("show", run.id)
    stored = queries.epochs(context.engine, run.id)
    assert [
        (e["epoch"], e["g_loss"], e["g_loss_hex"], e["d_loss_hex"]) for e in shown["epochs"]
    ] == [(e.epoch, e.g_loss, e.g_loss.hex(), e.d_loss.hex()) for e in stored]
    assert [e["images_per_second"] for e in shown["epochs"]] == [
        e.images / e.seconds for e in stored
    ]
    assert shown["hardware"] == HARDWARE


def test_losses_that_are_not_finite_are_null_and_named(context: Context) -> None:
    run = claimed(context, epochs=2)
    for epoch, g, d in ((1, float("nan"), float("inf")), (2, float("-inf"), 0.0)):
        finish_epoch(context, run, epoch, g, d)
    shown = document("show", run.id)["epochs"]
    assert [(e["g_loss"], e["g_loss_hex"], e["d_loss"], e["d_loss_hex"]) for e in shown] == [
        (None, "nan", None, "inf"),
        (None, "-inf", 0.0, "0x0.0p+0"),
    ]
    assert "NaN" in ganboard("show", run.id).stdout


def test_show_for_people(make_run: MakeRun, context: Context) -> None:
    run = make_run(name="a good run", epochs=12, precision="mixed_bfloat16")
    text = ganboard("show", run.id).stdout
    for part in (
        run.id,
        "a good run",
        "finished",
        'precision="mixed_bfloat16"',
        "Test CPU",
        str(context.settings.log_path(run.id)),
    ):
        assert part in text
    assert "latest 10 of 12 epochs" in text


def test_show_has_the_place_in_the_queue(make_run: MakeRun, context: Context) -> None:
    run = make_run()
    text = ganboard("show", run.id).stdout
    assert "priority 0" in text
    assert "owner" not in text
    with writing(context.engine) as session:
        session.execute(update(Run).values(priority=-7, owner="\x1b[1manna@example.org"))
    text = ganboard("show", run.id).stdout
    assert "priority -7, owner " in text
    assert "anna@example.org" in text
    assert "\x1b" not in text
    shown = document("show", run.id)
    assert (shown["priority"], shown["owner"]) == (-7, "\x1b[1manna@example.org")


def test_show_says_that_the_log_is_in_the_store(make_run: MakeRun, context: Context) -> None:
    run = make_run()
    log = Artifact(run_id=run.id, name=artifacts.log_name("box-1"), digest="d", size=5)
    artifacts.add(context.engine, log)
    assert "in the artifact store; the page of the run" in ganboard("show", run.id).stdout


def test_an_export_without_the_log_says_where_that_is(
    make_run: MakeRun, context: Context, tmp_path: Path
) -> None:
    run = make_run(status="running")
    checkpoint_reports.add_checkpoint(
        context.engine, run_id=run.id, attempt=1, step=12, epoch=3, digest="d", size=5, keep=1,
        machine="box-1",
    )  # fmt: skip
    said = f"The log of run {run.id} is on machine box-1. Read it there.\n"
    assert ganboard("export", run.id, str(tmp_path / "first")).stdout.endswith(said)
    log = context.settings.log_path(run.id)
    log.parent.mkdir(parents=True)
    log.write_text("a line\n")
    assert said not in ganboard("export", run.id, str(tmp_path / "second")).stdout


def test_show_a_failed_run_says_why(make_run: MakeRun) -> None:
    run = make_run(status="failed", error="The disk is full: free some space.")
    assert "The disk is full" in ganboard("show", run.id).stdout
    assert document("show", run.id)["error"] == "The disk is full: free some space."


@pytest.mark.parametrize("name", HOSTILE_NAMES)
def test_names_are_shown_as_they_are(make_run: MakeRun, name: str) -> None:
    run = make_run(name=name, epochs=1)
    assert name in ganboard("runs").stdout
    assert name in ganboard("show", run.id).stdout
    assert document("show", run.id)["name"] == name


def test_control_codes_from_the_database_do_not_reach_the_terminal(make_run: MakeRun) -> None:
    run = make_run(name="x\x1b[2Jy\u202ez", status="failed", error="\x1b]0;title\x07 gone")
    for text in (ganboard("runs").stdout, ganboard("show", run.id).stdout):
        assert "\x1b" not in text
        assert "\u202e" not in text
        assert "\x07" not in text


def test_runs_filters(make_run: MakeRun) -> None:
    old, failed, new = (
        make_run(name="alpha"),
        make_run(name="beta", status="failed"),
        make_run(name="Alpha two", status="queued"),
    )
    assert [run["id"] for run in document("runs")] == [new.id, failed.id, old.id]
    assert [run["id"] for run in document("runs", "--status", "failed", "--status", "queued")] == [
        new.id,
        failed.id,
    ]
    assert [run["id"] for run in document("runs", "--search", "alpha")] == [new.id, old.id]
    assert [run["id"] for run in document("runs", "--limit", "1")] == [new.id]
    assert "1 of 3 runs" in ganboard("runs", "--limit", "1").stdout
    assert "epochs" not in document("runs")[0]


def test_runs_of_an_empty_database(context: Context) -> None:
    assert "ganboard run --preset starter" in ganboard("runs").stdout
    assert document("runs") == []


def test_stop_and_resume(home: Path) -> None:
    run_id = document("run", "--preset", "tiny")["id"]
    assert document("stop", run_id[:6])["status"] == "stopped"
    assert "is already" in refused("stop", run_id)
    assert "queued again" in ganboard("resume", run_id).stdout
    assert "resumes automatically" in refused("resume", run_id)


def test_stop_a_run_that_trains(make_run: MakeRun, context: Context) -> None:
    run = make_run(status="running")
    assert "stops after the current step" in ganboard("stop", run.id).stdout
    stored = queries.get_run(context.engine, run.id)
    assert stored is not None
    assert stored.stop_requested_at is not None


def test_columns_of_ones_own_replace_the_usual_numbers(make_run: MakeRun) -> None:
    make_run("plain", epochs=2)
    evaluated = make_run("evaluated", epochs=4, quality_every=1, precision="mixed_bfloat16")
    asked = ("--column", "precision", "--column", "min(fid)", "--column", "seconds / epoch")
    heading, _, first, second, *_ = ganboard("runs", *asked).stdout.strip().splitlines()
    assert heading.split()[3:] == ["precision", "min(fid)", "seconds", "/", "epoch"]
    assert first.split()[3:] == ["mixed_bfloat16", "12", "2"]
    assert second.split()[3:] == ["float32", "–", "2"]
    listed, other = document("runs", *asked)
    assert listed["id"] == evaluated.id
    values = {"precision": "mixed_bfloat16", "min(fid)": 12.0, "seconds / epoch": 2.0}
    assert listed["columns"] == values
    assert other["columns"]["min(fid)"] is None
    assert "columns" not in document("runs")[0]


def test_a_bad_column_is_one_sentence(make_run: MakeRun) -> None:
    make_run(epochs=1, quality_every=1)
    assert "Did you mean fid" in refused("runs", "--column", "fidd")
    assert "'fid.x' is not allowed" in refused("runs", "--column", "fid.x", "--json")
    assert "no min of g_loss" in refused("runs", "--column", "min(g_loss)")
