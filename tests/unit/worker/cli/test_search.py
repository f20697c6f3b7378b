"""The commands of searches."""

from __future__ import annotations

import pytest

from ganboard.db.searches import searches
from ganboard.worker.context import Context
from ganboard.worker.searches import rounds
from tests.cli import document, ganboard, refused
from tests.unit.worker.searches.conftest import Trainer, train

START = ("search", "start", "--preset", "tiny", "--set", "epochs=3")
VARY = ("--vary", "g_learning_rate=1e-5..1e-2", "--vary", "batch_size=16,32")


def test_a_search_from_start_to_end(context: Context) -> None:
    made = document(*START, *VARY, "--runs", "2", "--pruner", "halving", "--sampler", "random")
    search_id = made["search"]
    assert made["evaluation"].startswith("Each run is evaluated every 1 epoch")
    search = searches.find(context.engine, "latest")
    (first,) = rounds.make(context, search)
    Trainer(context.engine, first.id, lambda _, epoch: 1.0).epochs(1, 3)
    (second,) = rounds.make(context, search)
    trainer = Trainer(context.engine, second.id, lambda _, epoch: 2.0)
    trainer.epochs(1, 1)
    rounds.make(context, search)
    trainer.epochs(2, 2)
    rounds.make(context, search)
    shown = document("search", "show", search_id[:6])
    assert (shown["state"], shown["message"]) == ("finished", "The budget of 2 runs is used.")
    assert [trial["state"] for trial in shown["trials"]] == ["finished", "pruned"]
    assert shown["best"]["value"] == 1.0
    said = ganboard("search", "show", "latest").stdout
    for part in ("2 of 2 runs ended", "pruned", "Best result: trial 0"):
        assert part in said
    assert "pruned" in ganboard("runs").stdout
    assert "pruned" in ganboard("show", second.id).stdout
    found = document("runs", "--search", "status:pruned")
    assert [run["id"] for run in found] == [second.id]
    assert document("runs", "--search", "status:stopped") == []
    more = document("search", "continue", "latest", "--runs", "3")
    assert (more["state"], more["runs"]) == ("running", 3)
    assert "not both" in refused("search", "continue", "latest", "--hours", "1", "--no-hours")
    assert document("search", "continue", "latest", "--hours", "1")["hours"] == 1
    assert document("search", "continue", "latest", "--no-hours")["hours"] is None
    (third,) = rounds.make(context, searches.find(context.engine, "latest"))
    assert document("search", "stop", "latest", "--now")["runs"] == 1
    assert document("show", third.id)["status"] == "stopped"
    assert [one["id"] for one in document("search", "list")] == [search_id]


def test_a_search_is_removed(context: Context) -> None:
    search_id = document(*START, *VARY)["search"]
    assert "is running. Stop it before" in refused("search", "remove", "latest", "--yes")
    ganboard("search", "stop", "latest")
    assert "cannot be undone. Confirm with --yes." in refused("search", "remove", "latest")
    assert (
        f"Deleted search {search_id} (tiny)." in ganboard("search", "remove", "latest", "-y").stdout
    )
    assert searches.listed(context.engine) == []
    assert "There is no search" in refused("search", "remove", search_id, "--yes")


def test_a_dry_run_stores_nothing(context: Context) -> None:
    said = ganboard(*START, *VARY, "--dry-run").stdout
    assert "Best FID: minimize. g_learning_rate: 1e-05 to 0.01 (log)" in said
    assert "Time unknown: no similar run has been measured on this machine." in said
    assert "Nothing was stored" in said
    assert searches.listed(context.engine) == []


def test_without_a_driver_it_says_so(context: Context) -> None:
    assert "Its runs are submitted by `ganboard up`" in ganboard(*START, *VARY).stdout
    assert "No process submits the runs of searches." in ganboard("search", "show", "latest").stderr
    search = searches.find(context.engine, "latest")
    for run in rounds.make(context, search):
        train(context.engine, run.id)
    assert "1/20" in ganboard("search", "list").stdout


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "Nothing to search"),
        (["--vary", "beta_1=0..2"], "beta_1=2 is not allowed"),
        (["--vary", "batch_size=4000,5000"], "None of 20 combinations drawn at random can run."),
        (["--vary", "conv_filters=1..2"], "'conv_filters' is not a setting"),
        ([*VARY, "--runs", "0"], "runs=0 is not possible: use 1 to 1,000."),
        ([*VARY, "--hours", "-1"], "hours=-1 is not possible"),
        ([*VARY, "--parallel", "99"], "99 runs at once are not possible"),
        ([*VARY, "--metric", "loss"], "The metric 'loss' cannot be optimized"),
        ([*VARY, "--objective", "worst"], "The objective 'worst' is not known"),
        ([*VARY, "--objective", "seconds"], "needs a target"),
        ([*VARY, "--target", "3"], "A target is for the objective seconds only."),
        ([*VARY, "--sampler", "grid"], "The sampler 'grid' is not known: use tpe, random."),
        ([*VARY, "--pruner", "halve"], "The pruner 'halve' is not known"),
        ([*VARY, "--pruner", "median", "--set", "quality_every=3"], "leaves nothing to prune"),
    ],
)
def test_mistakes_are_one_sentence(context: Context, arguments: list[str], words: str) -> None:
    assert words in refused(*START, *arguments)
    assert searches.listed(context.engine) == []


@pytest.mark.usefixtures("context")
def test_unknown_searches() -> None:
    assert "There is no search 'nope'" in refused("search", "show", "nope")


def test_a_used_budget_must_be_raised(context: Context) -> None:
    ganboard(*START, *VARY, "--runs", "1")
    search = searches.find(context.engine, "latest")
    for run in rounds.make(context, search):
        train(context.engine, run.id)
    rounds.make(context, search)
    assert "Raise the budget to continue." in refused("search", "continue", "latest")
    assert "is already finished" in refused("search", "stop", "latest")
