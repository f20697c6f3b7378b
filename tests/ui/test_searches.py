"""The page of searches."""

from __future__ import annotations

from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from ganboard.db.models import Search
from ganboard.db.runs import commands
from ganboard.db.searches import searches
from ganboard.worker.context import Context
from ganboard.worker.searches import definition, rounds
from ganboard.worker.searches.objective import Objective
from tests.factories import HOSTILE_NAMES
from tests.ui.pages import button, checked, open_page, words
from tests.ui.pictures import figures
from tests.unit.worker.searches.conftest import RATE, Trainer, start, train


def begun(context: Context, *, name: str = "my search", **options: Any) -> Search:
    return start(context, RATE, "batch_size=16,32", name=name, **options)


def progress(context: Context, search: Search, count: int) -> None:
    """Train so many runs."""
    for _ in range(count):
        for run in rounds.make(context, search):
            train(context.engine, run.id)


@pytest.mark.usefixtures("context")
def test_without_searches_it_says_what_one_is() -> None:
    assert "A search looks for good settings within a budget of runs" in words(
        open_page("searches")
    )


def test_a_search_before_its_first_run(context: Context) -> None:
    search = begun(context)
    said = words(open_page("searches", search=search.id))
    assert "No run has been submitted yet." in said
    assert "No process submits the runs of searches." in said
    assert "Minimize: Best FID. Random; no pruner; seed 0." in said


def test_a_search_under_way(context: Context) -> None:
    search = begun(context)
    progress(context, search, 1)
    at = open_page("searches", search=search.id)
    assert at.get("progress")[0].proto.text.startswith("1 of 4 runs ended · about ")
    said = words(at)
    assert "Time left: median duration of the run that has ended." in said
    assert "1 finished run with a result: importance needs at least 10." in said
    assert "1 finished run so far: comparing settings needs at least 2." in said
    assert len(figures(at)) == 1


def test_a_finished_search(context: Context) -> None:
    search = begun(context)
    progress(context, search, 5)
    at = open_page("searches", search=search.id)
    said = words(at)
    assert ":green-badge[:material/check: Finished]" in said
    assert "The budget of 4 runs is used." in said
    # by trial, two slices, parallel coordinates
    assert len(figures(at)) == 4
    table = at.dataframe[0].value
    assert table["State"].tolist() == ["Finished"] * 4
    metrics = {metric.label: metric.value for metric in at.metric}
    listed = open_page("runs", q=f"sweep:{search.id}")
    assert "Search my search" in [link.proto.label for link in listed.get("page_link")]
    assert metrics["Finished"] == "4"
    assert float(metrics["Best FID"]) == pytest.approx(table["Best FID"].min(), abs=0.01)


def test_pruned_trials_are_shown_as_such(context: Context) -> None:
    search = begun(context, pruner="halving", runs=2)
    (first,) = rounds.make(context, search)
    Trainer(context.engine, first.id, lambda _, epoch: 1.0).epochs(1, 3)
    (second,) = rounds.make(context, search)
    trainer = Trainer(context.engine, second.id, lambda _, epoch: 2.0)
    trainer.epochs(1, 1)
    rounds.make(context, search)
    trainer.epochs(2, 2)
    at = open_page("searches", search=search.id)
    assert at.dataframe[0].value["State"].tolist() == ["Finished", "Pruned"]
    assert at.dataframe[0].value["Remark"].tolist() == ["", "Pruned at epoch 1"]
    assert "violet-badge[:material/content_cut: Pruned]" in words(open_page("run", run=second.id))
    table = next(one.value for one in open_page("runs").dataframe if "Status" in one.value)
    assert sorted(map(str, table["Status"])) == ["['Finished']", "['Pruned']"]


def test_a_run_that_was_stopped_at_the_target_has_a_result(context: Context) -> None:
    search = begun(context, objective=Objective("fid", "seconds", 12.0), runs=2, parallel=2)
    first, _ = rounds.make(context, search)
    trainer = Trainer(context.engine, first.id, lambda _, epoch: 14.0 - epoch)
    trainer.epochs(1, 2)
    rounds.make(context, search)
    assert not trainer.epochs(3, 3)
    searches.stop(context.engine, search.id)
    definition.stop_runs(context, search)
    at = open_page("searches", search=search.id)
    table = at.dataframe[0].value
    assert table["State"].tolist() == ["Target reached", "Stopped"]
    assert table["Remark"].tolist() == ["", "Never started"]
    metrics = {metric.label: metric.value for metric in at.metric}
    assert (metrics["Finished"], metrics["Failed or stopped"]) == ("1", "1")
    assert metrics["Best time to target"] == "4.0 s"


def test_a_stop_that_comes_too_late_is_said(context: Context) -> None:
    search = begun(context, pruner="halving", runs=2)
    (first,) = rounds.make(context, search)
    Trainer(context.engine, first.id, lambda _, epoch: 1.0).epochs(1, 3)
    (second,) = rounds.make(context, search)
    trainer = Trainer(context.engine, second.id, lambda _, epoch: 2.0)
    trainer.epochs(1, 1)
    rounds.make(context, search)
    commands.finish(context.engine, **trainer.own, status="finished")
    at = open_page("searches", search=search.id)
    table = at.dataframe[0].value
    assert table["State"].tolist() == ["Finished", "Finished"]
    assert table["Remark"][1] == "Finished before the pruner's stop at epoch 1 took effect"


def test_stop_continue_and_raise(context: Context) -> None:
    search = begun(context)
    progress(context, search, 1)
    at = open_page("searches", search=search.id)
    at = checked(button(at, "Stop").click().run())
    assert "Stopped on request." in words(at)
    at = checked(button(at, "Continue").click().run())
    assert searches.running(context.engine)
    assert button(at, "Raise the budget")


def budget_dialog() -> None:
    """The dialog alone: the harness has no fragments, and runs a whole script at each click."""
    from ganboard.app import navigation
    from ganboard.app.searches import actions
    from ganboard.db.searches import searches

    context = navigation.context()
    actions.budget(context, searches.listed(context.engine)[0])


def test_the_budget_can_be_raised(context: Context) -> None:
    begun(context)
    at = checked(AppTest.from_function(budget_dialog, default_timeout=30).run())
    at.text_input(key="budget_runs").set_value("0")
    at = checked(at.button(key="budget_save").click().run())
    assert "Runs: '0' is invalid." in words(at)
    at.text_input(key="budget_runs").set_value("9")
    at.text_input(key="budget_hours").set_value("2.5")
    checked(at.button(key="budget_save").click().run())
    (stored,) = searches.listed(context.engine)
    assert (stored.runs, stored.hours, stored.state) == (9, 2.5, "running")
    at = AppTest.from_function(budget_dialog, default_timeout=30).run()
    at.text_input(key="budget_hours").set_value("")
    checked(at.button(key="budget_save").click().run())
    (stored,) = searches.listed(context.engine)
    assert (stored.runs, stored.hours) == (9, None)


def confirmation() -> None:
    """The dialog alone, as `budget_dialog`."""
    from ganboard.app import navigation
    from ganboard.app.searches import actions
    from ganboard.db.searches import searches

    context = navigation.context()
    for search in searches.listed(context.engine):
        actions.confirm(context, search)


def test_a_stopped_search_can_be_deleted(context: Context) -> None:
    search = begun(context)
    assert "Delete" not in [one.label for one in open_page("searches").button]
    searches.stop(context.engine, search.id)
    at = checked(button(open_page("searches"), "Delete").click().run())
    assert "will be deleted with its list of trials. Its runs stay." in words(at)
    assert searches.listed(context.engine)
    at = checked(AppTest.from_function(confirmation, default_timeout=30).run())
    checked(at.button(key="delete_confirmed").click().run())
    assert searches.listed(context.engine) == []


def test_a_run_names_its_search(context: Context) -> None:
    search = begun(context)
    (run,) = rounds.make(context, search)
    at = open_page("run", run=run.id)
    assert any(link.proto.label.startswith("Search ") for link in at.get("page_link"))


def test_stop_with_its_runs(context: Context) -> None:
    search = begun(context, parallel=2)
    first, second = rounds.make(context, search)
    at = open_page("searches", search=search.id)
    at = checked(button(at, "Stop with its runs").click().run())
    assert at.dataframe[0].value["State"].tolist() == ["Stopped", "Stopped"]
    assert first.id != second.id


@pytest.mark.parametrize("name", [name[:40] for name in HOSTILE_NAMES[:4]])
def test_hostile_names_are_text(context: Context, name: str) -> None:
    begun(context, name=name)
    at = open_page("searches")
    assert "<script>" not in at.subheader[0].value.replace("\\<", "")
    assert not at.exception


@pytest.mark.usefixtures("context")
def test_an_unknown_search(context: Context) -> None:
    begun(context)
    assert "There is no search with this id." in words(open_page("searches", search="0" * 12))
