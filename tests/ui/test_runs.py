"""The page of all runs."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest

from ganboard.app.runs import latest, table
from ganboard.db.models import Run
from ganboard.db.runs import annotations as run_annotations
from ganboard.db.runs import commands, queries, trash
from ganboard.gan.models.dcgan.config import Config
from ganboard.gan.settings.features import FACT
from ganboard.worker import formatting
from ganboard.worker.context import Context
from ganboard.worker.figures import palette
from tests.factories import HOSTILE_NAMES
from tests.ui.pages import button, checked, focus_cell, open_page, select_runs, table_ids, words

MakeRun = Callable[..., Run]


@pytest.mark.usefixtures("context")
def test_without_runs_it_says_what_to_do() -> None:
    at = open_page()
    assert "No runs yet" in words(at)
    at = checked(button(at, "Set up the first run").click().run())
    assert at.title[0].value == "Launch"


def test_one_run_is_a_row_and_a_card(make_run: MakeRun) -> None:
    run = make_run("first", epochs=3, batch_size=64)
    at = open_page()
    row = at.dataframe[0].value.iloc[0]
    assert (row["Run"], list(row["Status"]), row["Epoch"], row["Progress"]) == (
        "first",
        ["Finished"],
        "3 / 3",
        100,
    )
    assert (row["Batch"], row["s/epoch"], row["Images/s"], row["Id"]) == (
        64,
        2.0,
        4 * 64 / 2.0,
        run.id,
    )
    assert row["G loss"] == run.g_loss
    assert row["Duration"].total_seconds() >= 0
    assert "**first**" in words(at)
    assert [metric.label for metric in at.metric] == ["G loss", "D loss", "Images/s"]


def test_figures_that_do_not_exist_are_missing(make_run: MakeRun) -> None:
    make_run("waits", status="queued")
    row = open_page().dataframe[0].value.iloc[0]
    assert row[["G loss", "D loss", "s/epoch", "Images/s", "Duration"]].isna().all()
    assert row["Progress"] == 0


def test_newest_first_and_the_training_run_on_the_card(make_run: MakeRun) -> None:
    runs = [make_run("one"), make_run("two", status="running", epochs=2), make_run("three")]
    at = open_page()
    assert table_ids(at) == [run.id for run in reversed(runs)]
    assert "**two**" in words(at)
    assert "Epoch 2 of 12, about 20 s left" in str(at.get("progress")[0].proto)


@pytest.mark.parametrize("name", HOSTILE_NAMES)
def test_hostile_names_are_only_text(make_run: MakeRun, name: str) -> None:
    make_run(name)
    at = open_page()
    assert at.dataframe[0].value["Run"][0] == name
    card = next(markdown.value for markdown in at.markdown if "badge[" in markdown.value)
    assert card.startswith(f"**{formatting.escape(formatting.shorten(name, 48))}** ")
    assert not any(markdown.allow_html for markdown in at.markdown)


def test_three_hundred_runs(context: Context) -> None:
    for number in range(300):
        commands.create_run(
            context.engine,
            name=f"run {number}",
            config=Config(dataset="digits").model_dump(mode="json"),
        )
    at = open_page()
    assert len(table_ids(at)) == 300
    assert "300 runs" in words(at)


def test_search_and_states_filter(make_run: MakeRun) -> None:
    make_run("alpha one")
    make_run("alpha two", status="failed")
    make_run("100% beta_", status="stopped")
    at = open_page()
    at.text_input(key="q").set_value("ALPHA")
    assert sorted(checked(at.run()).dataframe[0].value["Run"]) == ["alpha one", "alpha two"]
    assert "2 runs of 3" in words(at)
    at.get_by_key("status").set_value(["failed"])
    assert list(checked(at.run()).dataframe[0].value["Run"]) == ["alpha two"]
    at.text_input(key="q").set_value("%")
    assert "No matching runs" in words(checked(at.run()))


def test_filters_come_from_the_url(make_run: MakeRun) -> None:
    make_run("alpha")
    make_run("beta", status="failed")
    assert list(open_page(q="alp").dataframe[0].value["Run"]) == ["alpha"]
    assert list(open_page(status=["Failed"]).dataframe[0].value["Run"]) == ["beta"]


def test_forged_url_values_do_no_harm(make_run: MakeRun) -> None:
    make_run("alpha")
    at = open_page(
        status=["nonsense"],
        q="x" * 10_000,
        columns=["nonsense", "Id", "seed"],
        fid="-1e999",
        archived="perhaps",
        follow="x",
    )
    assert "The search has 10,000 characters; the limit is 200." in words(at)
    assert table_ids(at)


def test_forged_rows_select_nothing(make_run: MakeRun) -> None:
    run = make_run("alpha")
    at = open_page()
    at.session_state[table.key([run.id])] = {
        "selection": {"rows": [7, -3, 0], "columns": [], "cells": []}
    }
    assert at.run().session_state["runs_selected"] in ([run.id], [])


def test_a_mistake_in_a_search_is_explained_and_changes_nothing_else(make_run: MakeRun) -> None:
    make_run("alpha")
    make_run("beta")
    at = open_page()
    at.text_input(key="q").set_value("alpha")
    checked(at.run())
    at.text_input(key="q").set_value("alpha status:done")
    checked(at.run())
    assert "'done' is not a state: choose from queued" in words(at)
    assert "the previous valid search, “alpha”" in words(at)
    assert list(at.dataframe[0].value["Run"]) == ["alpha"]
    at.text_input(key="q").set_value("status:finished -alpha")
    assert list(checked(at.run()).dataframe[0].value["Run"]) == ["beta"]
    assert "is not a state" not in words(at)


def test_settings_and_figures_are_searched(make_run: MakeRun) -> None:
    make_run("small", batch_size=32)
    make_run("large", batch_size=128, quality_every=1, dataset="digits")
    assert list(open_page(q="batch_size>=64").dataframe[0].value["Run"]) == ["large"]
    assert list(open_page(q="fid<100").dataframe[0].value["Run"]) == ["large"]
    assert list(open_page(q="/^S/").dataframe[0].value["Run"]) == ["small"]


def test_columns_come_from_the_url(make_run: MakeRun) -> None:
    make_run("one", seed=7, quality_every=1, dataset="digits", seconds_per_epoch=2.0)
    at = open_page(columns=["Id", "seed", "Best FID"], fid="20")
    row = at.dataframe[0].value.iloc[0]
    assert list(row.index) == ["Colour", "Image", "Run", "Id", "seed", "Best FID", "To FID"]
    assert (row["seed"], row["Best FID"], row["To FID"]) == (7, 40 / 3 + 2, 6.0)


def test_columns_change_places(make_run: MakeRun) -> None:
    make_run()
    at = open_page(columns=["Id", "seed", "Best FID"])
    assert at.button(key="column_left").disabled
    checked(at.button(key="column_right").click().run())
    assert list(at.dataframe[0].value.columns)[-3:] == ["seed", "Id", "Best FID"]
    at.selectbox(key="column_to_move").set_value("Best FID").run()
    assert at.button(key="column_right").disabled
    checked(at.button(key="column_left").click().run())
    assert list(at.dataframe[0].value.columns)[-3:] == ["seed", "Best FID", "Id"]


def test_any_stored_metric_and_expressions_are_columns(make_run: MakeRun) -> None:
    make_run("one", epochs=4, quality_every=1)
    make_run("going", status="running", epochs=2, quality_every=1)
    asked = ["min(fid) * seconds / epoch", "Id", "step_p95", "fidd", "fid.x"]
    at = open_page(columns=asked)
    shown = at.dataframe[0].value.set_index("Run")
    assert list(shown.columns) == ["Colour", "Image", *asked[:1], "Id", "step_p95"]
    assert shown.loc["one", asked[0]] == (40 / 4 + 2) * 2
    assert shown.loc["going", asked[0]] == (40 / 2 + 2) * 2
    assert "The column fidd is left out: There is no metric 'fidd'. Did you mean fid" in words(at)
    assert "The column fid.x is left out: 'fid.x' is not allowed." in words(at)
    many = [f"fid + {number}" for number in range(14)]
    at = open_page(columns=many)
    assert "At most 12 columns can be expressions." in words(at)
    assert set(many[:12]) <= set(at.dataframe[0].value.columns)


def test_tags_are_shown_added_and_removed_in_bulk(context: Context, make_run: MakeRun) -> None:
    one, two = make_run("one"), make_run("two")
    run_annotations.add_tags(context.engine, run_ids=[one.id], tags=["old"])
    at = select_runs(open_page(), [one.id, two.id])
    at = checked(button(at, "Tags").click().run())
    next(m for m in at.multiselect if m.label == "Remove").set_value(["old"])
    next(m for m in at.multiselect if m.label == "Add").set_value(["paper", "new one"])
    checked(at.button(key="tags_saved").click().run())
    assert run_annotations.tags_of(context.engine, [one.id, two.id]) == {
        one.id: ["new one", "paper"],
        two.id: ["new one", "paper"],
    }
    assert list(open_page(q="tag:paper").dataframe[0].value["Tags"][0]) == ["new one", "paper"]


def test_a_tag_that_cannot_be_used_is_explained(context: Context, make_run: MakeRun) -> None:
    run = make_run("one")
    at = checked(button(select_runs(open_page(), [run.id]), "Tags").click().run())
    next(m for m in at.multiselect if m.label == "Add").set_value(["a/b"])
    checked(at.button(key="tags_saved").click().run())
    assert "The tag 'a/b' contains '/'. Only letters, digits" in words(at)
    assert run_annotations.all_tags(context.engine) == []


def test_archived_runs_leave_the_list_and_come_back(context: Context, make_run: MakeRun) -> None:
    old, running, new = make_run("old"), make_run("running", status="running"), make_run("new")
    at = select_runs(open_page(), [old.id, running.id])
    at = checked(button(at, "Archive").click().run())
    assert table_ids(at) == [new.id, running.id]
    assert "2 runs" in words(at)
    at = open_page(archived="true")  # the address of older versions
    assert table_ids(at) == [old.id]
    assert "archived" not in at.query_params
    assert at.query_params["list"] == "Archived"
    at = open_page(list="Archived")
    assert table_ids(at) == [old.id]
    at = checked(button(select_runs(at, [old.id]), "Restore").click().run())
    assert "No run is archived" in words(at)
    assert queries.count_runs(context.engine) == 3


def test_what_is_hidden_leaves_the_selection(context: Context, make_run: MakeRun) -> None:
    one, two = make_run("one"), make_run("two")
    at = select_runs(open_page(), [one.id])
    at.text_input(key="q").set_value("two")
    at = select_runs(checked(at.run()), [two.id])
    assert at.session_state["runs_selected"] == [two.id]
    assert "1 run selected" in words(at)
    run_annotations.archive(context.engine, run_ids=[two.id])
    at.text_input(key="q").set_value("")
    at = select_runs(checked(at.run()), [one.id])
    checked(button(at, "Delete").click().run())
    assert [run.id for run in queries.list_runs(context.engine, archived=True)] == [two.id]


def test_a_course_of_few_points_is_not_drawn(make_run: MakeRun) -> None:
    make_run("short", epochs=latest.SPARK_LEAST - 1)
    assert not any(metric.proto.chart_data for metric in open_page().metric)
    make_run("long", epochs=latest.SPARK_LEAST)
    assert all(len(metric.proto.chart_data) == 5 for metric in open_page().metric)


def test_the_card_follows_the_newest_run(make_run: MakeRun) -> None:
    make_run("trains", status="running", epochs=2)
    make_run("newest", status="queued")
    assert "**trains**" in words(open_page())
    at = open_page(follow="true")
    assert "**newest**" in words(at)
    at = checked(button(at, "Open").click().run())
    assert at.query_params["run"] == "latest"


def test_views_are_saved_listed_and_forgotten(context: Context, make_run: MakeRun) -> None:
    make_run("alpha")
    run_annotations.save_view(
        context.engine, name="the <b>failed</b>", page="runs", query="status=Failed"
    )
    at = checked(button(open_page(q="a%b", columns=["Id", "seed"]), "Views").click().run())
    assert [link.proto.label.replace("\\", "") for link in at.get("page_link")] == [
        "the <b>failed</b>"
    ]
    at = open_page("view", name="the <b>failed</b>")
    assert "No such view" not in words(at)
    assert "There is no view “nonsense”" in words(open_page("view", name="nonsense"))


def test_actions_follow_the_selection(make_run: MakeRun) -> None:
    one, two, running = (
        make_run("one"),
        make_run("two", status="stopped"),
        make_run("three", status="running"),
    )
    at = open_page()
    for label in ("Open", "Compare", "Clone", "Stop", "Resume", "Delete"):
        assert next(b for b in reversed(at.button) if b.label == label).disabled
    at = select_runs(at, [one.id])
    on = {b.label for b in at.button if not b.disabled}
    assert {"Open", "Clone", "Delete"} <= on
    assert not {"Compare", "Stop", "Resume"} & on
    at = select_runs(at, [two.id, running.id])
    assert {"Compare", "Stop", "Resume", "Delete"} <= {b.label for b in at.button if not b.disabled}


@pytest.mark.thorough
def test_compare_opens_the_comparison_of_the_selected(make_run: MakeRun) -> None:
    one, two, _ = make_run("one"), make_run("two"), make_run("three")
    at = select_runs(open_page(), [two.id, one.id])
    at = checked(button(at, "Compare").click().run())
    assert at.query_params["runs"] == f"{two.id},{one.id}"


def test_open_goes_to_the_run(make_run: MakeRun) -> None:
    run = make_run("one")
    make_run("two")
    at = select_runs(open_page(), [run.id])
    at = checked(next(b for b in reversed(at.button) if b.label == "Open").click().run())
    assert at.query_params["run"] == run.id


def test_selection_stays_with_the_runs_when_rows_move(make_run: MakeRun) -> None:
    old = make_run("old")
    make_run("older than the next")
    at = select_runs(open_page(), [old.id])
    before = table.key(table_ids(at))
    newest = make_run("newest")  # now every row has moved down by one
    at = checked(at.run())
    assert table_ids(at)[0] == newest.id
    assert at.session_state["runs_selected"] == [old.id]
    # a late click on the table as it was
    at.session_state[before] = {"selection": {"rows": [0], "columns": [], "cells": []}}
    assert checked(at.run()).session_state["runs_selected"] == [old.id]


def test_stop_and_resume_act_on_the_selected(context: Context, make_run: MakeRun) -> None:
    running, stopped = (
        make_run("running", status="running"),
        make_run("stopped", status="stopped", dataset="digits"),
    )
    at = select_runs(open_page(), [running.id, stopped.id])
    at = checked(button(at, "Stop").click().run())
    stored = queries.get_run(context.engine, running.id)
    assert stored is not None
    assert stored.stop_requested_at is not None
    at = checked(button(at, "Resume").click().run())
    resumed = queries.get_run(context.engine, stopped.id)
    assert resumed is not None
    assert resumed.status == "queued"


def test_deleted_runs_are_in_the_trash_and_come_back(context: Context, make_run: MakeRun) -> None:
    doomed, running = make_run("doomed", epochs=3), make_run("running", status="running")
    losses = [epoch.g_loss for epoch in queries.epochs(context.engine, doomed.id)]
    at = select_runs(open_page(), [doomed.id, running.id])
    at = checked(button(at, "Delete").click().run())
    assert at.toast[0].value == "Moved 1 run to the trash."
    assert table_ids(at) == [running.id]
    at = open_page(list="Trash")
    row = at.dataframe[0].value.iloc[0]
    assert (row["Run"], row["Id"]) == ("doomed", doomed.id)
    assert row["Removal"] - row["Deleted"] == timedelta(days=7)
    assert not any("**doomed**" in markdown.value for markdown in at.markdown)  # no card
    at = checked(button(select_runs(at, [doomed.id]), "Restore").click().run())
    assert "The trash is empty" in words(at)
    assert table_ids(open_page()) == [running.id, doomed.id]
    assert [epoch.g_loss for epoch in queries.epochs(context.engine, doomed.id)] == losses


def test_permanent_deletion_asks_first(context: Context, make_run: MakeRun) -> None:
    doomed, other, kept = make_run("**doomed**"), make_run("other"), make_run("kept")
    for run in (doomed, other):
        trash.move(context.engine, run_id=run.id)
    at = select_runs(open_page(list="Trash"), [doomed.id])
    at = checked(button(at, "Delete permanently").click().run())
    assert trash.count(context.engine) == 2
    assert any("**doomed**" in element.value for element in at.text)
    at = checked(at.button(key="delete_confirmed").click().run())
    assert at.toast[0].value == "Deleted 1 run."
    assert table_ids(at) == [other.id]
    at = checked(button(at, "Empty trash").click().run())
    assert "1 run with" in words(at)
    checked(at.button(key="delete_confirmed").click().run())
    left = queries.list_runs(context.engine, trash_too=True)
    assert [run.id for run in left] == [kept.id]


def test_when_all_runs_are_in_the_trash_the_list_says_so(
    context: Context, make_run: MakeRun
) -> None:
    run = make_run("the only one")
    trash.move(context.engine, run_id=run.id)
    assert "No matching runs" in words(open_page())
    assert table_ids(open_page(list="Trash")) == [run.id]


def test_the_first_focus_of_a_table_previews_nothing(make_run: MakeRun) -> None:
    """A click on a box or a heading gives it to the first cell."""
    old, _ = make_run("old"), make_run("new")
    at = focus_cell(open_page(), old.id, "Colour")
    assert "preview" not in at.query_params
    at = focus_cell(at, old.id, "Status")
    assert at.query_params["preview"] == old.id


def test_a_click_on_a_row_previews_its_run(make_run: MakeRun) -> None:
    old, new = make_run("old", epochs=5), make_run("new")
    at = open_page()
    assert "**new**" in words(at)
    at = focus_cell(at, old.id)
    assert at.query_params["preview"] == old.id
    assert "**old**" in words(at)
    assert at.session_state["runs_selected"] == []
    at = checked(at.button(key=f"open_{old.id}").click().run())
    assert at.query_params["run"] == old.id
    at = open_page(preview=old.id)
    assert "**old**" in words(at)
    at = checked(at.button(key="close_preview").click().run())
    assert "**new**" in words(at)
    assert "preview" not in at.query_params
    assert table_ids(at) == [new.id, old.id]


@pytest.mark.parametrize("preview", ["nobody2345", "<b>", "x" * 5000])
def test_a_preview_of_nothing_shows_the_usual_card(make_run: MakeRun, preview: str) -> None:
    make_run("any")
    assert "**any**" in words(open_page(preview=preview))


def test_each_row_has_the_colour_and_the_newest_image_of_its_run(make_run: MakeRun) -> None:
    run, waiting = make_run("run", epochs=3), make_run("waiting", status="queued")
    rows = open_page().dataframe[0].value.set_index("Id")
    assert rows["Colour"][run.id] == palette.run_dot(run.number)
    assert rows["Colour"][waiting.id] == palette.run_dot(waiting.number)
    assert rows["Image"][run.id] == f"/api/runs/{run.id}/grids/3.png?height=80"
    assert rows["Image"].isna()[waiting.id]


def test_unreachable_database_is_one_sentence(
    home: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GANBOARD_DATABASE_URL", "sqlite:////proc/nowhere/ganboard.db")
    at = open_page()
    assert "unable to open database file" in words(at)
    assert "GANBOARD_DATABASE_URL" in words(at)


def test_distances_by_other_features_have_columns_of_their_own(make_run: MakeRun) -> None:
    make_run("labelled", quality_every=1, dataset="digits")
    assert "Best FID (encoder)" not in open_page().dataframe[0].value
    facts = {FACT: f"encoder {'0' * 16}"}
    make_run("without labels", quality_every=1, dataset="digits", facts=facts)
    table = open_page(fid="100", fid_features="encoder").dataframe[0].value.set_index("Run")
    assert table["Best FID (encoder)"].notna().tolist() == [True, False]
    assert table["Best FID"].notna().tolist() == [False, True]
    assert table["To FID"].notna().tolist() == [True, False]
    assert "Best FID (Keras InceptionV3)" not in table


def test_the_goal_begins_with_features_that_runs_have(make_run: MakeRun) -> None:
    make_run("without labels", quality_every=1, facts={FACT: f"encoder {'0' * 16}"})
    at = open_page(fid="100")
    assert at.get_by_key("fid_features").value == "encoder"
    assert at.dataframe[0].value["To FID"].notna().tolist() == [True]
