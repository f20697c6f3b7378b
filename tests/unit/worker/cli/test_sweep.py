"""The command that queues a sweep."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from ganboard.db.models import Run
from ganboard.db.runs import queries
from ganboard.worker.context import Context
from tests.cli import document, ganboard, refused

MakeRun = Callable[..., Run]


def test_the_command_queues_a_grid(context: Context) -> None:
    made = document(
        "sweep",
        "--preset",
        "tiny",
        "--set",
        "epochs=1",
        "--vary",
        "batch_size=32,256,64",
        "--seeds",
        "2",
    )
    runs = queries.sweep_runs(context.engine, made["sweep"])
    assert (made["count"], len(runs)) == (4, 4)
    assert [run["id"] for run in made["runs"]] == [
        runs[0].id,
        runs[1].id,
        None,
        None,
        runs[2].id,
        runs[3].id,
    ]
    assert [run["problem"] is None for run in made["runs"]] == [
        True,
        True,
        False,
        False,
        True,
        True,
    ]
    assert {run.config["epochs"] for run in runs} == {1}
    assert [run.config["seed"] for run in runs] == [0, 1, 0, 1]


def test_a_dry_run_shows_all_and_stores_nothing(context: Context, make_run: MakeRun) -> None:
    make_run("before", batch_size=32, steps_per_epoch=10, seconds_per_epoch=3.2)
    words = (
        "sweep",
        "--preset",
        "tiny",
        "--vary",
        "batch_size=32,256",
        "--vary",
        "precision=float32,mixed_bfloat16",
        "--dry-run",
    )
    said = ganboard(*words).stdout
    for part in (
        "tiny, batch 32, mixed_bfloat16",
        "larger than limit=128",
        "2 of 4 combinations",
        "1 of unknown length",
        "--dry-run",
    ):
        assert part in said
    assert document(*words)["sweep"] is None
    assert queries.count_runs(context.engine) == 1


def test_a_sweep_is_evaluated_unless_quality_every_is_set(context: Context) -> None:
    def every(*words: str) -> tuple[list[int], str]:
        made = document("sweep", "--preset", "tiny", "--vary", "seed=0,1", *words)
        runs = queries.sweep_runs(context.engine, made["sweep"])
        return [run.config["quality_every"] for run in runs], made["evaluation"]

    assert every("--set", "epochs=3")[0] == [3, 3]
    assert "Each run is evaluated after its last epoch" in every()[1]
    assert every("--set", "quality_every=0") == (
        [0, 0],
        "The runs are not evaluated (quality_every=0).",
    )
    assert every("--set", "quality_every=1")[0] == [1, 1]
    assert every("--vary", "quality_every=0,1")[0] == [0, 1, 0, 1]
    said = ganboard("sweep", "--preset", "showers_tiny", "--vary", "seed=0,1", "--dry-run").stdout
    assert "The runs are not evaluated (quality_every=0)." in said  # the preset says so


def test_the_command_leaves_out_what_is_finished(context: Context, make_run: MakeRun) -> None:
    done = make_run("done", epochs=2)
    made = document("sweep", "--preset", "tiny", "--vary", "seed=0,1", "--reuse")
    assert [(run["id"] is None, run["finished"]) for run in made["runs"]] == [
        (True, done.id),
        (False, None),
    ]
    said = ganboard("sweep", "--preset", "tiny", "--vary", "seed=0,9", "--reuse").stdout
    assert f"Requested the evaluation of reused runs: {done.id}." in said
    again = document("sweep", "--preset", "tiny", "--vary", "seed=0", "--reuse")
    assert (again["sweep"], again["count"]) == (None, 0)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "Nothing to vary"),
        (["--preset", "nope", "--vary", "seed=1"], "'nope' does not exist"),
        (["--vary", "batchsize=1"], "'batchsize' is not a setting"),
        (["--vary", "batch_size=1,1"], "lists 1 twice"),
        (["--vary", "batch_size=one"], "a whole number"),
        (["--seeds", "150", "--vary", "batch_size=1,2"], "300 runs; the limit is 200"),
        (
            ["--preset", "tiny", "--vary", "batch_size=256,512"],
            "None of the 2 combinations can run. batch_size=256",
        ),
        (["--set", "nonsense", "--seeds", "2"], "not of the form key=value"),
        (["--seeds", "2", "--name", "a\x1bb"], "U+001B"),
        (["--set", "seed=x", "--seeds", "2"], "seed=x is not allowed"),
        (["--set", "epochs=x", "--seeds", "2"], "epochs=x is not allowed"),
        (["--set", "quality_every=x", "--seeds", "2"], "quality_every=x is not allowed"),
    ],
)
def test_the_command_refuses_in_one_sentence(
    context: Any, arguments: list[str], words: str
) -> None:
    assert words in refused("sweep", *arguments)
    assert json.loads(ganboard("runs", "--json").stdout) == []
