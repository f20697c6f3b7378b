"""Studies: their grids, what of them exists, what is launched, how far they are, and what is
refused."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from ganboard.db import requests, studies
from ganboard.db.models import Run
from ganboard.db.runs import commands, queries
from ganboard.gan.config import ConfigError
from ganboard.gan.studies import BUDGETS, NAMES, Part, Study, budgets, built_in
from ganboard.worker.context import Context
from ganboard.worker.studies import study
from tests.cli import document, ganboard, refused

MakeRun = Callable[..., Run]
TINY = BUDGETS["tiny"].settings
SMALL = Study(
    "mine",
    "Mine",
    "Why?",
    TINY,
    (Part("batches", {}, {"batch_size": (16, 32)}), Part("usual", {"batch_size": 32})),
    seeds=2,
)


def settings(context: Context) -> set[tuple[int, int]]:
    return {
        (run.config["batch_size"], run.config["seed"]) for run in queries.list_runs(context.engine)
    }


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("budget", BUDGETS)
def test_every_built_in_study_can_run(context: Context, name: str, budget: str) -> None:
    asked = built_in(name, budget)
    if "model" not in asked.settings:  # of the data of other models nothing is downloaded
        asked = replace(asked, settings={**asked.settings, "dataset": "digits", "limit": 512})
    needed = study.examine(context, asked)
    assert 2 <= len(needed) <= study.LIMIT
    assert {part for one in needed for part in one.parts} == {part.name for part in asked.parts}
    assert len({one.member.name for one in needed}) == len(needed)


def test_a_run_that_serves_two_parts_is_trained_once(context: Context) -> None:
    stored, queued = study.launch(context, SMALL)
    assert len(queued) == 4
    assert settings(context) == {(16, 0), (16, 1), (32, 0), (32, 1)}
    parts = studies.runs(context.engine, stored.id)
    assert [len(parts["batches"]), len(parts["usual"])] == [4, 2]
    assert {run.id for run in parts["usual"]} < {run.id for run in parts["batches"]}
    assert {run.sweep for run in queued} == {stored.id}


def test_finished_runs_of_the_same_settings_are_used_again(
    context: Context, make_run: MakeRun
) -> None:
    alike = {**TINY, "batch_size": 16}
    same, other = make_run("same", **alike, seed=1), make_run("other", **{**alike, "limit": 96})
    stored, queued = study.launch(context, SMALL)
    used = {run.id for runs in studies.runs(context.engine, stored.id).values() for run in runs}
    assert same.id in used
    assert other.id not in used
    assert (len(used), len(queued)) == (4, 3)


def test_asked_again_it_goes_on(context: Context) -> None:
    stored, queued = study.launch(context, SMALL)
    commands.request_stop(context.engine, run_id=queued[0].id)
    commands.request_stop(context.engine, run_id=queued[1].id)
    commands.delete_run(context.engine, run_id=queued[1].id)
    again, resumed = study.launch(context, SMALL)
    assert again.id == stored.id
    assert queued[0].id in {run.id for run in resumed}
    assert len(resumed) == 2  # one goes on, one is made anew
    assert study.progress(context, stored.id).runs == 4
    assert len(studies.listed(context.engine)) == 1
    other, _ = study.launch(context, replace(SMALL, seeds=1))
    assert other.id != stored.id


def test_progress_counts_steps(context: Context, make_run: MakeRun) -> None:
    stored, _ = study.launch(context, SMALL)
    state = study.progress(context, stored.id)
    assert (state.runs, state.finished, state.broken, state.training, state.done, state.over) == (
        4,
        0,
        0,
        [],
        0.0,
        False,
    )
    for run in queries.list_runs(context.engine):
        commands.request_stop(context.engine, run_id=run.id)
    state = study.progress(context, stored.id)
    assert (state.broken, state.done, state.over, state.seconds_left) == (4, 1.0, True, 0)


def test_a_study_is_forgotten_and_its_runs_stay(context: Context) -> None:
    stored, queued = study.launch(context, SMALL)
    studies.remove(context.engine, stored.id)
    assert studies.get(context.engine, stored.id) is None
    assert queries.count_runs(context.engine) == len(queued)


def test_what_is_refused(context: Context) -> None:
    many = Study("many", "Many", "?", TINY, (Part("seeds", {}, {"seed": range(10_000)}),))
    with pytest.raises(ConfigError, match="10,000 runs; the limit is 200"):
        study.launch(context, many)
    halves = tuple(Part(f"part {n}", {"beta_1": 0.1 * n}, {"seed": range(150)}) for n in range(2))
    with pytest.raises(ConfigError, match="300 runs; the limit is 200"):
        study.launch(context, Study("two", "Two", "?", TINY, halves))
    with pytest.raises(ConfigError, match="cannot run"):
        study.launch(
            context,
            Study("bad", "Bad", "?", TINY, (Part("batches", {}, {"batch_size": (16, 7000)}),)),
        )
    with pytest.raises(ConfigError, match="has no run"):
        study.launch(context, Study("none", "None", "?", TINY, ()))
    assert queries.count_runs(context.engine) == 0
    assert studies.listed(context.engine) == []
    assert "choose one of paper, batch-size" in refused("study", "papers")
    assert "choose one of paper, paper-small, tiny" in refused("study", "paper", "--preset", "huge")
    assert "batch_size is varied by the study batch-size" in refused(
        "study", "batch-size", "--preset", "tiny", "--set", "batch_size=8"
    )
    assert "no study file" in refused("study", "nowhere.py")


def test_commands(context: Context) -> None:
    assert "There is no study yet" in ganboard("studies").output
    dry = document("study", "batch-size", "--preset", "tiny", "--dry-run")
    assert (dry["count"], dry["missing"]) == (2, 2)
    assert queries.count_runs(context.engine) == 0
    assert (
        "2 runs, 2 to train"
        in ganboard("study", "batch-size", "--preset", "tiny", "--dry-run").output
    )
    made = document("study", "batch-size", "--preset", "tiny", "--seeds", "2")
    assert (made["name"], made["runs"], made["finished"]) == ("batch-size", 4, 0)
    listed = document("studies")
    assert [(one["id"], one["runs"]) for one in listed] == [(made["id"], {"queued": 4})]
    assert "4 queued" in ganboard("studies").output
    assert (
        "4 runs, 0 finished, 0 queued now"
        in ganboard("study", "batch-size", "--preset", "tiny", "--seeds", "2").output
    )


def test_following_ends_with_the_last_run(context: Context, make_run: MakeRun) -> None:
    for batch in (16, 32):
        make_run(f"done {batch}", **{**TINY, "batch_size": batch})
    ended = document("study", "batch-size", "--preset", "tiny", "--follow")
    assert (ended["runs"], ended["finished"], ended["broken"], ended["done"]) == (2, 2, 0, 1.0)
    assert (
        "2 of 2 runs finished, 0 stopped or failed"
        in ganboard("study", "batch-size", "--preset", "tiny", "--follow").output
    )


def test_the_paths_of_its_first_seeds_share_a_surface(context: Context) -> None:
    stored, _ = study.launch(context, SMALL)
    asked = study.surface(context, stored)
    assert asked is not None
    runs = {run.id: run for run in studies.runs(context.engine, stored.id)["batches"]}
    assert [
        (runs[one].config["batch_size"], runs[one].config["seed"])
        for one in (asked.run_id, *asked.others)
    ] == [(16, 0), (32, 0)]
    assert requests.claim(context.engine, requests.ANALYSES) is None  # its runs have not ended
    study.launch(context, SMALL)
    assert study.surface(context, stored) == asked


def test_of_other_models_no_surface_is_asked_for(context: Context) -> None:
    study.launch(context, replace(built_in("vortex_street", "tiny"), figures=("fig11",)))
    assert not requests.waiting(context.engine, requests.ANALYSES)
    assert queries.count_runs(context.engine) == 4


def test_without_fig11_no_surface_is_asked_for(context: Context) -> None:
    stored, _ = study.launch(context, replace(SMALL, figures=("fig7",)))
    assert study.surface(context, stored) is None
    assert not requests.waiting(context.engine, requests.ANALYSES)


@pytest.mark.parametrize(("name", "model"), [("vortex_street", "pix2pix"), ("showers", "gan3d")])
def test_studies_of_other_models_bring_their_own_budgets(
    context: Context, name: str, model: str
) -> None:
    assert budgets(name).keys() == BUDGETS.keys()
    made = document("study", name, "--preset", "tiny")
    runs = queries.list_runs(context.engine)
    assert made["runs"] == len(runs)
    assert {run.config["model"] for run in runs} == {model}
    assert {run.config["replicas"] for run in runs} == {1, 2}
    assert not requests.waiting(context.engine, requests.ANALYSES)


def test_both_approaches_over_devices_and_processes(context: Context) -> None:
    needed = study.examine(context, built_in("showers", "paper"))
    asked = {
        (one.member.config.loop, one.member.config.effective_strategy, one.member.config.replicas)
        for one in needed
        if one.member.config
    }
    spread = {
        ("default", 1),
        ("mirrored", 2),
        ("mirrored", 4),
        ("multi_worker", 2),
        ("multi_worker", 4),
    }
    assert asked == {(loop, *where) for loop in ("custom", "fit") for where in spread}
