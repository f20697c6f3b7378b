"""The page of the installation."""

from __future__ import annotations

from collections.abc import Callable
from itertools import takewhile

import pandas as pd
import pytest
from sqlalchemy import text as sql

from ganboard.db import heartbeats
from ganboard.db.claims import records
from ganboard.db.engine import writing
from ganboard.db.models import SEARCHES, Run
from ganboard.db.placement import backlog, draining
from ganboard.db.settings import Settings
from ganboard.worker import doctor
from ganboard.worker.context import Context
from tests.factories import HARDWARE, HOSTILE_NAMES, make_worker
from tests.ui.pages import button, checked, open_page, words
from tests.unit.db.stored_runs import contents
from tests.unit.worker.claims.pairs import stated

MakeRun = Callable[..., Run]
STATUS_WORDS = {"ok": "OK", "warn": "Warning", "fail": "Error"}


def metrics(at) -> dict[str, str]:  # type: ignore[no-untyped-def]
    return {metric.label: metric.value for metric in at.metric}


def table(at, column: str) -> pd.DataFrame:  # type: ignore[no-untyped-def]
    """The first table that has this column."""
    return next(frame.value for frame in at.dataframe if column in frame.value)


def grow_old(context: Context, worker: str) -> None:
    with writing(context.engine) as session:
        session.execute(
            sql("UPDATE worker SET heartbeat_at = '2020-01-01 00:00:00.000000' WHERE name = :name"),
            {"name": worker},
        )


@pytest.mark.usefixtures("context")
def test_an_empty_installation_says_what_to_start() -> None:
    at = open_page("system")
    assert "Workers: no" in words(at)
    assert "Queue: does not answer. Run `ganboard up`. New runs are stored" in words(at)
    assert (
        "Inference worker: none running: requests of the playground, surfaces,"
        " predictions and evaluations wait. Run: `ganboard up` (or `ganboard inference-worker`)"
        in words(at)
    )
    assert metrics(at)["Workers alive"] == "0 of 0"
    assert "None in the last hour." in words(at)


def test_counts_come_from_the_database(context: Context, make_run: MakeRun) -> None:
    make_run("done", epochs=2)
    make_run("waits", status="queued")
    make_run("paused", status="suspended")
    run = make_run("trains", status="running")
    make_worker(context, run_id=run.id)
    at = open_page("system")
    found = metrics(at)
    assert (found["Workers alive"], found["Training"], found["Waiting"], found["Queue"]) == (
        "1 of 1",
        "1",
        "2",
        "Unreachable",
    )
    assert "4 runs" in next(metric.help for metric in at.metric if metric.label == "Database")
    row = table(at, "Worker").iloc[0]
    assert (row["Worker"], row["State"], row["Trains"]) == ("testbox-1", "Alive", "trains")
    assert (row["Processor"], row["Accelerators"], row["TensorFlow"]) == (
        "Test CPU @ 2.00 GHz, 2 cores",
        "none",
        "2.21.0",
    )
    assert "Workers: none" not in words(at)


def test_a_silent_worker_is_named(context: Context) -> None:
    make_worker(context)
    grow_old(context, "testbox-1")
    at = open_page("system")
    assert "Worker testbox-1: no heartbeat for" in words(at)
    assert table(at, "Worker").iloc[0]["State"] == "Silent"


def test_background_processes_are_listed(context: Context) -> None:
    claim = stated(context)
    make_worker(context, "testbox:searches:1", kind=SEARCHES)
    at = open_page("system")
    assert "Claims: none running: open claims get no runs and no verdict. Run:" in words(at)
    shown = table(at, "Service").set_index("Service")
    assert shown["State"].to_dict() == {
        "Inference worker": "Not running",
        "Alerts": "Not needed",
        "Searches": "Alive",
        "Claims": "Not running",
    }
    assert shown.loc["Searches", ["Host", "Process"]].tolist() == ["testbox", "4242"]
    records.end(context.engine, claim.id, "stopped")
    grow_old(context, "testbox:searches:1")
    shown = table(open_page("system"), "Service").set_index("Service")
    assert shown["State"].tolist()[2:] == ["Silent", "Not needed"]


def test_different_tensorflows_are_noticed(context: Context) -> None:
    make_worker(context, "a")
    make_worker(context, "b", devices={**HARDWARE, "versions": {"tensorflow": "2.20.0"}})
    assert "different TensorFlow versions (2.20.0, 2.21.0)" in words(open_page("system"))


@pytest.mark.usefixtures("context")
def test_versions_and_places_are_listed(home: object) -> None:
    at = open_page("system")
    versions = table(at, "Package").set_index("Package")["Version"]
    assert versions["streamlit"].startswith("1.67")
    places = next(
        frame.value
        for frame in at.dataframe
        if "Where" in frame.value and "Size" not in frame.value
    )["Where"].tolist()
    assert str(home) in places
    assert "mnist is not in" in words(at)


def test_the_database_password_stays_hidden(
    context: Context, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GANBOARD_REDIS_URL", "redis://:secretword@127.0.0.1:1/0")
    at = open_page("system")
    assert "Check GANBOARD_REDIS_URL" in words(at)
    assert not any("secretword" in frame.value.to_string() for frame in at.dataframe)


@pytest.mark.parametrize("name", HOSTILE_NAMES)
def test_hostile_names_of_runs_and_workers(context: Context, make_run: MakeRun, name: str) -> None:
    run = make_run(name, status="running", epochs=0)
    make_worker(context, name, run_id=run.id)
    at = open_page("system")
    assert table(at, "Worker").iloc[0][["Worker", "Trains"]].tolist() == [name, name]
    assert not any(markdown.allow_html for markdown in at.markdown)


@pytest.mark.thorough
@pytest.mark.usefixtures("context")
def test_the_page_and_the_doctor_say_the_same() -> None:
    at = open_page("system")
    shown = table(at, "Found").set_index("What")[["State", "Remedy"]]
    found = {
        check.name: check
        for check in takewhile(lambda check: check.name != "tensorflow", doctor.checks(Settings()))
    }
    assert set(shown.index) == {
        name for name in found if not name.startswith("data: ") and name != "database"
    }
    for name, row in shown.iterrows():
        assert (row["State"], row["Remedy"]) == (
            STATUS_WORDS[found[str(name)].status],
            found[str(name)].remedy,
        )


def test_what_waits_is_listed_in_order(context: Context, make_run: MakeRun) -> None:
    for index in range(22):
        make_run(f"run {index}", status="queued")
    at = open_page("system")
    waiting = table(at, "Place")
    assert waiting["Run"].tolist() == [f"run {index}" for index in range(20)]
    assert "And 2 runs more." in words(at)
    assert "none running, and 22 runs in the queue" in words(at)


def test_sizes_are_shown_and_the_button_frees_nothing(context: Context, make_run: MakeRun) -> None:
    small, large = make_run("small", epochs=1, steps_per_epoch=1), make_run("large", epochs=2)
    with writing(context.engine) as session:
        session.execute(
            sql("UPDATE checkpoint SET size = 2 * size WHERE run_id = :id"), {"id": large.id}
        )
    at = open_page("system")
    sizes = table(at, "Size").set_index("What")["Size"]
    assert sizes["Checkpoints"] == "90 MiB"
    # 216 B, in the unit of the column
    assert sizes["Losses and rates of every step"] == "< 0.01 MiB"
    before = contents(context.engine)
    at = checked(button(at, "Show largest runs").click().run())
    assert table(at, "Checkpoints")["Run"].tolist() == [large.name, small.name]
    assert contents(context.engine) == before


def test_machines_with_labels_are_listed_and_drained(context: Context, make_run: MakeRun) -> None:
    run = make_run("needs more", status="queued", needs="lab4")
    heartbeats.record(
        context.engine,
        name="box-1:1",
        host="box",
        pid=1,
        run_id=None,
        devices=HARDWARE,
        machine="box-1",
        labels=["lab3", "fast"],
    )
    backlog.set_priority(context.engine, run_id=run.id, priority=7)
    at = open_page("system")
    row = table(at, "Labels").iloc[0]
    assert (row["Machine"], row["State"], row["Labels"]) == ("box-1", "Alive", "lab3, fast")
    assert button(at, "Drain").disabled  # none is selected
    waits = table(at, "Waits for").iloc[0]
    assert (waits["Run"], waits["Priority"]) == ("needs more", 7)
    assert waits["Waits for"] == "No machine has what it needs: lab4"
    draining.drain(context.engine, "box-1")
    at = open_page("system")
    assert table(at, "Labels").iloc[0]["State"] == "Drained"
    assert table(at, "Waits for").iloc[0]["Waits for"].startswith("Every machine is drained")
