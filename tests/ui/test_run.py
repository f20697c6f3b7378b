"""The page of one run, in every state that a run can be in."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sqlalchemy import update
from streamlit.testing.v1 import AppTest

from ganboard.app.run import records, status
from ganboard.db.engine import writing
from ganboard.db.models import Checkpoint, Run, SystemSample
from ganboard.db.runs import commands, expiry, holders, queries, reports
from ganboard.gan.config import RunConfig
from ganboard.worker import formatting as text
from ganboard.worker.context import Context
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
    "Notes",
)
FIGURES = {"Losses": 2, "Quality": 8, "Timings": 3, "Rates": 1, "Histograms": 2, "Descent path": 2}


def own(run: Run) -> dict[str, Any]:
    return {"run_id": run.id, "attempt": run.attempt}


@pytest.mark.usefixtures("context")
@pytest.mark.parametrize(
    ("query", "title"),
    [({}, "No run selected"), ({"run": "gone"}, "No such run"), ({"run": "../etc"}, "No such run")],
)
def test_without_a_run_it_leads_on(query: dict[str, str], title: str) -> None:
    at = open_page("run", **query)
    assert at.title[0].value == title
    assert at.get("page_link")[-1].proto.label == "All runs"


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


def test_delete_asks_first(context: Context, make_run: MakeRun) -> None:
    run = make_run("goes")
    at = checked(button(open_page("run", run=run.id), "Delete").click().run())
    assert queries.get_run(context.engine, run.id) is not None
    checked(button(at, "Delete 1 run").click().run())
    # app/main.py then leads to the list: tests/e2e/pages/test_run_page.py
    assert queries.get_run(context.engine, run.id) is None


def test_run_that_ends_or_vanishes_while_shown(context: Context, make_run: MakeRun) -> None:
    run = make_run("ends", status="running")
    at = open_page("run", run=run.id)
    commands.finish(context.engine, **own(run), status="stopped")
    assert not button(checked(at.run()), "Resume").disabled
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


@pytest.mark.parametrize("view", ["Losses", "Histograms", "Descent path"])
def test_losses_that_are_not_finite(context: Context, make_run: MakeRun, view: str) -> None:
    run = make_run("diverged", status="running", epochs=1)
    broken = np.array([1.0, np.inf, -np.inf, np.nan], np.float32)
    reports.append_steps(
        context.engine, **own(run), epoch=2, first=0, g_losses=broken, d_losses=broken
    )
    nan = float("nan")
    timed = {"steps": 4, "images": 128, "seconds": 2.0, "compile_seconds": 0.0}
    reports.finish_epoch(
        context.engine,
        **own(run),
        epoch=2,
        **timed,
        g_loss=nan,
        d_loss=nan,
        g_path=(nan, nan),
        d_path=(nan, float("inf")),
    )
    at = open_page("run", run=run.id, view=view)
    assert {metric.label: metric.value for metric in at.metric}["Generator loss"] == "NaN"
    shown = figures(at)
    assert len(shown) == 2
    if view == "Losses":
        assert shown[0]["layout"]["shapes"][0]["x0"] == 6
        assert np.isnan(numbers(shown[0]["data"][0]["y"])).tolist() == [False] * 5 + [True] * 3


@pytest.mark.parametrize("name", HOSTILE_NAMES)
def test_names_are_text(make_run: MakeRun, name: str) -> None:
    title = open_page("run", run=make_run(name).id).title[0].value
    assert title == text.escape(text.shorten(name, 80))


def test_loss_options_come_from_the_address(make_run: MakeRun) -> None:
    run = make_run("options", epochs=2)
    at = open_page(
        "run",
        run=run.id,
        x="Epoch",
        smooth="0.9",
        log="true",
        logx="true",
        robust="true",
        marks="false",
    )
    steps, epochs = figures(at)
    assert [trace["uid"] for trace in steps["data"]] == ["g-raw", "g", "d-raw", "d"]
    assert (steps["layout"]["xaxis"]["type"], steps["layout"]["yaxis"]["type"]) == ("log", "log")
    assert len(steps["layout"]["yaxis"]["range"]) == len(epochs["layout"]["yaxis"]["range"]) == 2
    assert "Outliers are hidden" in words(at)
    assert numbers(steps["data"][1]["x"])[-1] == 2
    for axis, last in (("Step", 8), ("Training seconds", 4)):
        steps, epochs = figures(open_page("run", run=run.id, x=axis))
        assert numbers(steps["data"][0]["x"])[-1] == numbers(epochs["data"][0]["x"])[-1] == last
        assert [trace["uid"] for trace in steps["data"]] == ["g", "d", "events-info"]
    at = open_page("run", run=run.id, x="Time (UTC)", logx="true")
    assert [figure["layout"]["xaxis"]["type"] for figure in figures(at)] == ["date", "date"]
    assert at.get_by_key("logx").disabled


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


def alert(at: AppTest) -> str:
    return next(
        element.value
        for element in at.markdown
        if element.value.startswith((":red[", ":orange[", ":gray["))
    )


def test_trouble_stands_at_the_head(context: Context, make_run: MakeRun) -> None:
    run = make_run("trouble", status="running", epochs=1)
    assert alert(open_page("run", run=run.id)) == ":gray[:material/check: No warnings]"
    reports.add_event(
        context.engine, **own(run), level="warning", text="D dominates: **lower** its rate."
    )
    said = alert(open_page("run", run=run.id, view="Config"))
    assert said == f":orange[:material/warning: {text.escape('D dominates: **lower** its rate.')}]"
    reports.add_event(
        context.engine, **own(run), level="error", text="Step 5 was not finite: rates are halved."
    )
    said = alert(open_page("run", run=run.id))
    assert said.startswith(":red[:material/error: Step 5 was not finite")
    assert said.endswith(" · 2 warnings, see Events")
    broken = np.array([np.nan], np.float32)
    reports.append_steps(
        context.engine, **own(run), epoch=2, first=0, g_losses=broken, d_losses=broken
    )
    assert "the loss of the generator and of the discriminator is no longer finite" in alert(
        open_page("run", run=run.id)
    )
    assert "No warnings" not in words(open_page("run", run=make_run("broke", status="failed").id))


def test_no_warnings_is_not_said_above_a_warning(context: Context, make_run: MakeRun) -> None:
    run = make_run("taken over", status="running", epochs=1)
    expiry.died(context.engine, **own(run), cause="The trainer was killed")
    make_worker(context)
    said = words(open_page("run", run=run.id))
    assert "The trainer was killed" in said
    claim = commands.claim(context.engine, run_id=run.id, worker="testbox-1", lease_seconds=3600)
    assert claim is not None
    said = words(open_page("run", run=run.id))
    assert "1 warning before this attempt, see Events" in said
    assert "No warnings" not in said


def test_no_warnings_is_not_said_beside_what_is_wrong(context: Context, make_run: MakeRun) -> None:
    run = make_run("waits", status="queued")
    said = words(open_page("run", run=run.id))
    assert "no worker is running" in said
    assert "No warnings" not in said
    make_worker(context)
    assert "No warnings" in words(open_page("run", run=run.id))


@pytest.mark.usefixtures("context")
def test_smoothing_has_few_steps(make_run: MakeRun) -> None:
    at = open_page("run", run=make_run("smooth").id, smooth="0.95")
    slider = at.select_slider(key="smooth")
    assert slider.value == 0.95
    assert len(slider.options) == 10


def test_everything_can_be_downloaded(make_run: MakeRun) -> None:
    run = make_run("data")
    listed = next(
        element.value
        for element in open_page("run", run=run.id).markdown
        if "export.zip" in element.value
    )
    for name in ("export.zip", "epochs.csv", "losses.csv", "quality.csv", "events.csv", "model"):
        assert f"[{name}](/api/runs/{run.id}/{name})" in listed
    assert f"[run.json](/api/runs/{run.id})" in listed


def test_system_samples(context: Context, make_run: MakeRun) -> None:
    run = make_run("samples", status="running")
    for percent in (10.0, 90.0):
        reports.add_sample(
            context.engine,
            SystemSample(**own(run), cpu_percent=percent, rss_bytes=2.0**30, memory_percent=20.0),
        )
    load, memory = figures(open_page("run", run=run.id, view="System"))
    assert numbers(load["data"][0]["y"]) == [10, 90]
    assert numbers(memory["data"][0]["y"]) == [1, 1]


def test_log_is_the_end_of_the_file(context: Context, make_run: MakeRun) -> None:
    run = make_run("logs", status="running")
    path = context.settings.log_path(run.id)
    path.parent.mkdir(parents=True)
    path.write_bytes(
        b"\n".join(b"line %d" % n for n in range(500))
        + b"\n1/9 \r9/9 \x1b[32mdone\x1b[0m\r\n<b>\xff</b>\n"
    )
    newest, shown = (code.value for code in open_page("run", run=run.id, view="Log").code[1:])
    assert shown.endswith(newest)
    assert len(newest.splitlines()) == records.NEWEST_LINES
    assert shown.splitlines()[-2:] == ["9/9 done", "<b>\ufffd</b>"]
    assert len(shown.splitlines()) == records.LOG_LINES


def test_notices_of_libraries_are_folded_away(context: Context, make_run: MakeRun) -> None:
    run = make_run("logs", status="finished")
    path = context.settings.log_path(run.id)
    path.parent.mkdir(parents=True)
    notice = (
        "WARNING: All log messages before absl::InitializeLog() is called are written to STDERR\n"
        "I0000 00:00:1795398321.424839   14735 port.cc:153] oneDNN custom operations are on.\n"
    )
    error = "E0000 00:00:1795398321.424839   14735 cuda.cc:1] no device\n"
    path.write_text(f"--- attempt 1 ---\n{notice}first\n{error}{notice}last\n")
    at = open_page("run", run=run.id, view="Log")
    newest, everything = (code.value for code in at.code[1:])
    assert newest == f"--- attempt 1 ---\nfirst\n{error}last"
    assert everything.count("oneDNN") == 2
    assert at.expander[-1].label == "The last 8 lines, 4 notices of libraries included"


def test_tail_of_a_huge_or_missing_log(tmp_path: Path) -> None:
    path = tmp_path / "train.log"
    assert records.tail(path) is None
    path.write_bytes(b"x" * 10_000_000)
    assert len(records.tail(path) or "") == 64 * 1024


def test_config_marks_what_differs_from_the_default(make_run: MakeRun) -> None:
    run = make_run("settings", precision="mixed_bfloat16")
    at = open_page("run", run=run.id, view="Config")
    table = at.dataframe[0].value.set_index("Setting")
    assert set(table.index) == set(RunConfig.model_fields)
    assert table.loc["precision", ["Changed", "Value", "Default"]].tolist() == [
        "●",
        "mixed_bfloat16",
        "float32",
    ]
    assert table.loc["xla", ["Changed", "Value"]].tolist() == ["", "no"]
    hardware = dict(at.dataframe[1].value.itertuples(index=False, name=None))
    assert hardware["versions tensorflow"] == "2.21.0"
    assert json.loads(at.code[0].value) == run.config


def test_a_setting_of_another_version_is_shown() -> None:
    table = records.settings_frame({"mystery": [1, 2]}).set_index("Setting")
    assert table.loc["mystery", ["Group", "Value"]].tolist() == ["Unknown", "[1, 2]"]


def test_events_newest_first(make_run: MakeRun) -> None:
    table = (
        open_page(
            "run", run=make_run("events", status="failed", error="It broke.").id, view="Events"
        )
        .dataframe[0]
        .value
    )
    assert table.iloc[0][["Level", "Event"]].tolist() == ["Error", "It broke."]
    assert table.iloc[-1]["Event"] == "Submitted."


def test_progress_without_a_measured_speed_promises_nothing(make_run: MakeRun) -> None:
    assert status.progress(make_run("new", status="running", epochs=0)).seconds_left is None
