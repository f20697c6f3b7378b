"""Pages of a run that a script trains: its own tabs, and no button that cannot work."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from ganboard.db.models import Run
from ganboard.db.runs import commands, queries
from ganboard.worker.context import Context
from tests.scripts import script_run
from tests.ui.pages import button, open_page, words
from tests.ui.pictures import figures, numbers

MakeRun = Callable[..., Run]


TABS = [
    "Losses", "Metrics", "Panels", "Images", "Latent wall", "System", "Log", "Events", "Config",
    "Notes",
]  # fmt: skip


@pytest.mark.parametrize("view", TABS)
def test_every_tab_shows_what_the_script_reported(context: Context, view: str) -> None:
    run = script_run(context)
    at = open_page("run", run=run.id, view=view)
    assert [tab.label for tab in at.tabs] == TABS
    drawn = figures(at)
    if view == "Losses":
        assert numbers(drawn[0]["data"][0]["x"]) == list(range(1, 31))
    if view == "Metrics":
        titles = [plot["layout"]["title"]["text"] for plot in drawn]
        assert titles == ["psnr", "val_psnr"]
        assert numbers(drawn[1]["data"][0]["y"]) == [10, 20, 30]
    if view == "Config":
        assert at.dataframe[0].value["Setting"].tolist()[0] == "batch_size"


def test_a_run_with_other_metrics_begins_with_them(context: Context) -> None:
    run = script_run(context, losses=False, ended=False)
    at = open_page("run", run=run.id)
    assert at.tabs[0].label == "Metrics"
    assert [tile.label for tile in at.metric] == ["psnr", "val_psnr"]
    assert "A script trains this run: step 30." in words(at)
    assert len(figures(at)) == 2


def test_histograms_stand_below_the_metrics(context: Context) -> None:
    run = script_run(context, histograms=True)
    at = open_page("run", run=run.id, view="Metrics")
    drawn = figures(at)
    assert [plot["layout"]["title"]["text"] for plot in drawn] == [
        "psnr",
        "val_psnr",
        "weights &lt;b&gt;",
    ]
    assert numbers(drawn[2]["data"][0]["x"]) == [10, 20]
    assert "Histograms" in words(at)


def test_resume_and_clone_are_off_and_stop_asks_the_script(context: Context) -> None:
    run = script_run(context, ended=False)
    at = open_page("run", run=run.id)
    assert button(at, "Clone").disabled
    assert "script" in button(at, "Clone").help
    button(at, "Stop").click().run()
    stopping = queries.get_run(context.engine, run.id)
    assert stopping is not None
    assert stopping.stop_requested_at is not None
    assert "it was asked to stop" in words(at)
    commands.finish(context.engine, run_id=run.id, attempt=1, status="stopped")
    at = open_page("run", run=run.id)
    assert button(at, "Resume").disabled


def test_lists_and_comparisons_have_it_beside_the_others(
    context: Context, make_run: MakeRun
) -> None:
    ours = make_run("ours", epochs=2)
    mine = [script_run(context, "mine"), script_run(context, "other", losses=False, ended=False)]
    rows = open_page().dataframe[0].value.set_index("Run")
    assert rows.loc["mine", "Batch"] == 16  # a number, and none where it could not be one
    assert rows.loc["mine", "Epoch"] == "3 / ?"
    ids = [run.id for run in (ours, *mine)]
    for view in ("Losses", "Images", "Quality", "Timings", "Settings", "Parallel"):
        at = open_page("compare", runs=ids, part=view)
        assert "Left out" not in words(at)
    at = open_page("compare", runs=[mine[0].id, ours.id], part="Settings")
    found = next(f.value for f in at.dataframe if "Name" in f.value).set_index("Name")
    assert found.loc["lr", "mine"] == "0.1"


def test_the_playground_and_the_launch_form_leave_it_alone(context: Context) -> None:
    run = script_run(context, ended=False)
    assert run.name not in words(open_page("playground"))
    assert "1 in training" not in words(open_page("launch"))
    open_page("launch", clone=run.id)
