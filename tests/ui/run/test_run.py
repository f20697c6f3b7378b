"""The page of one run, in every state that a run can be in."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from sqlalchemy import update

from ganboard.db.engine import writing
from ganboard.db.models import Checkpoint, Run
from ganboard.db.runs import commands, holders, queries, reports, trash
from ganboard.worker import formatting as text
from ganboard.worker.context import Context
from tests.attempt import own
from tests.factories import HOSTILE_NAMES, make_worker
from tests.ui.pages import button, checked, open_page, words
from tests.ui.pictures import figures, numbers

MakeRun = Callable[..., Run]
VIEWS = (
    "Losses",
    "Images",
    "Quality",
    "Timings",
    "Rates",
    "Histograms",
    "Descent path",
    "System",
    "Log",
    "Events",
    "Config",
    "Model",
    "Notes",
)
FIGURES = {"Losses": 2, "Quality": 8, "Timings": 3, "Rates": 1, "Histograms": 2, "Descent path": 2}


@pytest.mark.usefixtures("context")
@pytest.mark.parametrize(
    ("query", "title"),
    [({}, "No run selected"), ({"run": "gone"}, "No such run"), ({"run": "../etc"}, "No such run")],
)
def test_without_a_run_it_leads_on(query: dict[str, str], title: str) -> None:
    at = open_page("run", **query)
    assert at.title[0].value == title
    assert at.get("page_link")[-1].proto.label == "All runs"


@pytest.mark.usefixtures("context")
def test_where_no_run_was_launched_it_offers_to() -> None:
    at = open_page("run")
    assert "No run has been launched yet." in words(at)
    assert [button.label for button in at.button] == ["Launch a run"]


def test_unknown_id_offers_the_newest_runs(make_run: MakeRun) -> None:
    run = make_run("the newest")
    at = open_page("run", run="nosuchrun")
    assert "It was deleted" in words(at)
    assert [link.proto.label for link in at.get("page_link")] == [
        "the newest · Finished",
        "All runs",
    ]
    assert run.id in at.get("page_link")[0].proto.query_string


def test_waiting_run_says_for_what(context: Context, make_run: MakeRun) -> None:
    make_run("ahead", status="queued")
    run = make_run("behind", status="queued")
    assert ("no worker is running. Start one with `ganboard up`") in words(
        open_page("run", run=run.id)
    )
    make_worker(context)
    at = open_page("run", run=run.id)
    assert "Waiting for a free worker: 1 run ahead." in words(at)
    assert at.get("progress")[0].proto.text == "11 epochs planned".replace(
        "11", str(run.config["epochs"])
    )
    assert "Losses appear after the first steps." in words(at)
    assert not figures(at)
    assert button(at, "Stop").disabled is False


def test_phases_before_training_are_named(context: Context, make_run: MakeRun) -> None:
    run = make_run("starts", status="starting")
    for phase, word in (
        ("importing", "Importing TensorFlow"),
        ("compiling", "Compiling the training step for "),
        ("saving", "Saving a checkpoint"),
    ):
        reports.set_phase(context.engine, **own(run), phase=phase)
        assert word in words(open_page("run", run=run.id))


def test_a_phase_says_how_far_it_is(context: Context, make_run: MakeRun) -> None:
    run = make_run("decodes", status="starting")
    reports.set_phase(context.engine, **own(run), phase="loading")
    reports.set_phase_progress(context.engine, **own(run), text="decoding 40 %, 2 min left")
    assert ": decoding 40 %, 2 min left." in words(open_page("run", run=run.id))
    reports.set_phase(context.engine, **own(run), phase="compiling")
    assert "decoding" not in words(open_page("run", run=run.id))


def test_a_run_that_waits_for_its_machine_says_which(context: Context, make_run: MakeRun) -> None:
    run = make_run("away", status="suspended", epochs=1)
    make_worker(context, "testbox-1")
    with writing(context.engine) as session:
        session.execute(update(Checkpoint).values(machine="box_1-ab12cd34"))
    found = holders.newest(context.engine, run.id)
    assert found is not None
    holders.wait(context.engine, found, 300)
    said = words(open_page("run", run=run.id))
    assert (
        f"Waiting for machine box_1-ab12cd34, which has the checkpoint of step {found.step}" in said
    )
    assert "; it ends in" in said


def test_running_run_with_a_part_of_an_epoch(context: Context, make_run: MakeRun) -> None:
    run = make_run("runs", status="running", epochs=2, steps_per_epoch=4, seconds_per_epoch=2.0)
    losses = np.array([0.5, 0.25], np.float32)
    reports.append_steps(
        context.engine,
        **own(run),
        epoch=3,
        first=0,
        g_losses=losses,
        d_losses=losses * 2,
        images_per_second=64.0,
    )
    at = open_page("run", run=run.id)
    assert "Training epoch 3 of 12." in words(at)
    progress = at.get("progress")[0].proto
    # 38 steps of 32 images at 64 a second
    assert progress.text == "Epoch 3 of 12 · step 10 of 48 · about 19 s left"
    assert progress.value == int(100 * 10 / 48)
    assert {metric.label: metric.value for metric in at.metric}["Generator loss"] == "0.2500"
    steps, epochs = figures(at)
    assert numbers(steps["data"][0]["x"]) == list(range(1, 11))
    assert numbers(steps["data"][0]["y"])[-2:] == [0.5, 0.25]
    assert numbers(epochs["data"][0]["x"]) == [4, 8]  # the last steps of the epochs
    keys = [figure["layout"]["uirevision"] for figure in figures(at)]
    reports.append_steps(
        context.engine, **own(run), epoch=3, first=2, g_losses=losses, d_losses=losses
    )
    again = figures(checked(at.run()))
    assert numbers(again[0]["data"][0]["x"]) == list(range(1, 13))
    assert [figure["layout"]["uirevision"] for figure in again] == keys


def test_finished_run_is_complete_and_at_rest(make_run: MakeRun) -> None:
    run = make_run("done", epochs=3, steps_per_epoch=4)
    at = open_page("run", run=run.id)
    assert at.get("progress")[0].proto.text == "Epoch 3 of 3 · step 12 of 12"
    assert button(at, "Resume").disabled
    assert not button(at, "Delete").disabled
    assert "All epochs are finished." in words(at)
    assert {metric.label: metric.value for metric in at.metric}["Training time"] == "6.0 s"


def test_failed_run_shows_the_error_and_what_to_do(context: Context, make_run: MakeRun) -> None:
    run = make_run(
        "broke",
        status="failed",
        epochs=1,
        error="The disk is full: **free** some space.\nThen resume.",
    )
    at = open_page("run", run=run.id)
    assert [text.value for text in at.text] == [
        "The disk is full: **free** some space.\nThen resume."
    ]
    assert "**Resume** continues from the latest checkpoint" in words(at)
    at = checked(button(at, "Resume").click().run())
    stored = queries.get_run(context.engine, run.id)
    assert stored is not None
    assert stored.status == "queued"
    assert "Waiting" in words(at)


def test_stop_is_asked_once(context: Context, make_run: MakeRun) -> None:
    run = make_run("stops", status="running")
    at = checked(button(open_page("run", run=run.id), "Stop").click().run())
    stored = queries.get_run(context.engine, run.id)
    assert stored is not None
    assert stored.stop_requested_at is not None
    assert button(at, "Stop").disabled
    assert "Stopping" in words(at)


def test_lost_lease_is_said(context: Context, make_run: MakeRun) -> None:
    run = make_run("silent", status="running")
    commands.renew(context.engine, **own(run), lease_seconds=-30)
    assert re.search(
        r"No heartbeat for 3\d s; another worker will resume", words(open_page("run", run=run.id))
    )


def test_clone_leads_to_the_form(make_run: MakeRun) -> None:
    run = make_run("original", batch_size=16, limit=64)
    at = checked(button(open_page("run", run=run.id), "Clone").click().run())
    assert at.title[0].value.startswith("Launch")
    assert at.query_params["clone"] == run.id


def test_a_deleted_run_is_in_the_trash(context: Context, make_run: MakeRun) -> None:
    run = make_run("**goes**", epochs=3)
    checked(button(open_page("run", run=run.id), "Delete").click().run())
    # app/main.py then leads to the list: tests/e2e/pages/test_run_page.py
    assert queries.get_run(context.engine, run.id) is None
    at = open_page("run", run=run.id)
    assert at.title[0].value == text.escape("**goes**")
    said = words(at)
    assert "This run is in the trash. It was deleted" in said
    assert "finished, with 3 finished epochs" in said
    at = checked(button(at, "Restore").click().run())
    assert "in the trash" not in words(at)
    assert not button(at, "Clone").disabled
    assert queries.get_run(context.engine, run.id) is not None


def test_a_run_in_the_trash_can_be_removed(context: Context, make_run: MakeRun) -> None:
    run = make_run("goes")
    trash.move(context.engine, run_id=run.id)
    at = checked(button(open_page("run", run=run.id), "Delete permanently").click().run())
    assert trash.count(context.engine) == 1
    checked(button(at, "Delete 1 run").click().run())
    assert queries.get_run(context.engine, run.id, trash_too=True) is None


def test_run_that_ends_or_vanishes_while_shown(context: Context, make_run: MakeRun) -> None:
    run = make_run("ends", status="running")
    at = open_page("run", run=run.id)
    commands.finish(context.engine, **own(run), status="stopped")
    assert not button(checked(at.run()), "Resume").disabled
    trash.move(context.engine, run_id=run.id)
    assert "This run is in the trash" in words(checked(at.run()))
    commands.delete_run(context.engine, run_id=run.id)
    assert checked(at.run()).title[0].value == "No such run"


STATES: dict[str, dict[str, Any]] = {
    "waiting": {"status": "queued", "epochs": 0},
    "begun": {"status": "running", "epochs": 0},
    "failed": {"status": "failed", "epochs": 2, "quality_every": 1},
    "many epochs": {"epochs": 300, "grids": False, "quality_every": 1},
}


@pytest.mark.thorough
@pytest.mark.parametrize("state", STATES)
def test_every_tab_of_every_state(make_run: MakeRun, state: str) -> None:
    run = make_run("tabs", **STATES[state])
    for view in VIEWS:
        at = open_page("run", run=run.id, view=view)
        assert len(figures(at)) == (FIGURES.get(view, 0) if STATES[state]["epochs"] else 0), view
        assert "Error" not in words(at), view


@pytest.mark.parametrize("name", HOSTILE_NAMES)
def test_names_are_text(make_run: MakeRun, name: str) -> None:
    title = open_page("run", run=make_run(name).id).title[0].value
    assert title == text.escape(text.shorten(name, 80))


@pytest.mark.parametrize("forged", ["", "Bogus,-1", "1e999"])
def test_forged_options_are_ignored(make_run: MakeRun, forged: str) -> None:
    run = make_run("forged", epochs=2, quality_every=1)
    names = (
        "x",
        "smooth",
        "log",
        "logx",
        "robust",
        "marks",
        "over",
        "goal",
        "along",
        "when",
        "common",
        "dim",
        "at",
    )
    for view in (
        "Losses",
        "Images",
        "Quality",
        "Timings",
        "Rates",
        "Histograms",
        "Descent path",
        forged,
    ):
        at = open_page("run", run=run.id, view=view, **dict.fromkeys(names, forged))
        assert at.title[0].value == "forged"
        assert "Error" not in words(at), view


def test_latest_is_the_newest_run_and_goes_on_to_newer_ones(make_run: MakeRun) -> None:
    assert open_page("run", run="latest").title[0].value == "No run selected"
    first = make_run("first", status="running")
    at = open_page("run", run="latest")
    assert at.title[0].value == "first"
    stay = at.get("page_link")[-1].proto
    assert stay.label == "Following the newest run: stop following"
    assert first.id in stay.query_string
    make_run("second", status="queued")
    assert checked(at.run()).title[0].value == "second"


def test_a_newer_run_is_offered_quietly(make_run: MakeRun) -> None:
    run = make_run("first", status="running")
    at = open_page("run", run=run.id)
    assert [(link.proto.label, link.proto.query_string) for link in at.get("page_link")] == [
        ("Follow the newest run", "run=latest")
    ]
