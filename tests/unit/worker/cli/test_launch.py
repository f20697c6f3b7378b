"""The commands that submit a run."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from ganboard.db.models import Run
from ganboard.gan import presets
from ganboard.worker.context import Context
from tests.cli import document, ganboard
from tests.factories import make_worker

MakeRun = Callable[..., Run]


def test_run_stores_and_says_what_it_waits_for(home: Path) -> None:
    said = ganboard("run", "--preset", "tiny", "--set", "epochs=7", "--name", "first look").stdout
    shown = document("show", "latest")
    assert shown["id"] in said
    assert "No worker is running" in said
    assert "ganboard up" in said
    assert (shown["name"], shown["status"], shown["preset"]) == ("first look", "queued", "tiny")
    assert shown["config"]["epochs"] == 7
    assert shown["config"]["limit"] == presets.values("tiny")["limit"]


def test_run_says_what_gains_nothing_on_this_machine(context: Context) -> None:
    make_worker(context)
    half = ("--set", "precision=mixed_bfloat16")
    assert "no bfloat16 instructions" in ganboard("run", "--preset", "tiny", *half).stdout
    assert "bfloat16" not in ganboard("run", "--preset", "tiny").stdout


def test_run_prints_the_document_of_show(home: Path) -> None:
    submitted = document("run", "--preset", "tiny")
    assert submitted == document("show", submitted["id"])
    assert set(submitted) >= {
        "id",
        "name",
        "status",
        "config",
        "hardware",
        "epochs",
        "error",
        "attempt",
    }


def test_clone_changes_the_given_settings(make_run: MakeRun) -> None:
    run = make_run(name="w" * 80)
    cloned = document("clone", run.id, "--set", "seed=5")
    assert cloned["config"] == {**run.config, "seed": 5}
    assert cloned["parent_id"] == run.id
    assert cloned["name"].endswith(" (clone)")
    assert document("clone", run.id, "--name", "other")["name"] == "other"
