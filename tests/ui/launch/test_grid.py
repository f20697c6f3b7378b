"""The grid builder of the page that launches runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import orjson
import pytest
from streamlit.testing.v1 import AppTest

from ganboard.db import requests, studies
from ganboard.db.models import Run
from ganboard.db.runs import queries
from ganboard.worker import formatting
from ganboard.worker.context import Context
from tests.factories import HOSTILE_NAMES, make_worker
from tests.ui.pages import button, checked, open_page, words

MakeRun = Callable[..., Run]


def grid_page(at: AppTest, **values: Any) -> AppTest:
    """The launch page with the grid builder open; `values` are those of each setting, `seeds` the
    repetitions."""
    at.get_by_key("launch_mode").set_value("Sweep")
    at = checked(at.run())
    seeds = values.pop("seeds", 1)
    at.get_by_key("grid_fields").set_value(list(values))
    at = checked(at.run())
    for name, value in values.items():
        at.get_by_key(f"grid_values_{name}").set_value(value)
    at.text_input(key="grid_seeds").set_value(str(seeds))
    return checked(at.run())


def table(at: AppTest) -> list[dict[str, Any]]:
    """What the rows of the grid's table were given."""
    [given] = [
        orjson.loads(element.proto.json)
        for element in at.get("bidi_component")
        if "headings" in element.proto.json
    ]
    return list(given["rows"])


def metrics(at: AppTest) -> dict[str, str]:
    return {metric.label: metric.value for metric in at.metric}


def links(at: AppTest) -> dict[str, str]:
    """The query strings of the links to other pages, by label."""
    return {link.proto.label: link.proto.query_string for link in at.get("page_link")}


@pytest.mark.usefixtures("context")
def test_repetitions_and_the_form_are_what_was_typed_or_nothing_is_launched() -> None:
    at = grid_page(open_page("launch"), xla=[False, True], seeds="0")
    assert "Repetitions: '0' is invalid. Enter a whole number from 1 to 200." in words(at)
    assert at.button(key="grid_launch").disabled
    at.text_input(key="grid_seeds").set_value("1")
    at = checked(at.run())
    assert not at.button(key="grid_launch").disabled
    [batch] = [box for box in at.text_input if str(box.key).startswith("set_batch_size_")]
    batch.set_value("0")
    at = checked(at.run())
    assert "batch_size=0 is not allowed" in words(at)
    assert at.button(key="grid_launch").disabled


def test_a_grid_is_shown_before_it_is_launched(context: Context, make_run: MakeRun) -> None:
    make_run(
        "before",
        batch_size=32,
        limit=None,
        precision="mixed_bfloat16",
        steps_per_epoch=10,
        seconds_per_epoch=3.2,
    )
    at = grid_page(
        open_page("launch", preset="digits"), batch_size="32, 64, 4000", xla=[False, True]
    )
    rows = table(at)
    assert [(row["values"], row["refused"]) for row in rows] == [
        (["32", "off"], False), (["32", "on"], False), (["64", "off"], False),
        (["64", "on"], False), (["4000", "off"], True), (["4000", "on"], True),
    ]  # fmt: skip
    times = [row["rest"][1].replace("\N{NO-BREAK SPACE}", " ") for row in rows]
    assert (times[0], times[1], times[4]) == ("8 min 58 s", "unknown", "–")
    assert " to " in times[2]
    assert "larger than the data set (1797 images of digits)" in rows[4]["remark"]
    shown = metrics(at)
    assert (shown["Runs"], shown["Invalid"], shown["Reused"]) == ("4", "2", "0")
    assert " to " in shown["Total time"]
    assert "The total does not include 2 runs" in words(at)
    assert queries.count_runs(context.engine) == 1


def test_launching_a_grid_stores_all_and_shows_the_ways_on(context: Context) -> None:
    at = grid_page(open_page("launch", preset="tiny"), batch_size="16, 32", seeds=2)
    at.text_input(key="grid_name").set_value("my grid")
    at = checked(button(checked(at.run()), "Launch 4 runs").click().run())
    runs = queries.list_runs(context.engine)
    assert sorted(run.name for run in runs) == [
        f"my grid, batch {batch}, seed {seed}" for batch in (16, 32) for seed in (0, 1)
    ]
    [made] = {run.sweep for run in runs}
    assert made is not None
    assert f"Launched] as sweep `{made}`" in words(at)
    assert "4 queued; next in the queue." in words(at)
    assert links(at)["Show in the list of runs"] == f"q=sweep%3A{made}"
    assert links(at)["Compare them"].count("%2C") == 3
    assert not [box for box in at.button if box.label.startswith("Launch")]
    at = checked(button(at, "Set up another sweep").click().run())
    assert button(at, "Launch 4 runs")
    assert queries.count_runs(context.engine) == 4


def test_a_sweep_is_evaluated_unless_the_person_says_otherwise(context: Context) -> None:
    at = grid_page(open_page("launch", preset="tiny"), batch_size="16, 32")
    assert at.toggle(key="grid_evaluate").value is True
    assert "Each run is evaluated after its last epoch (quality_every)." in words(at)
    checked(button(at, "Launch 2 runs").click().run())
    assert {run.config["quality_every"] for run in queries.list_runs(context.engine)} == {2}
    at = grid_page(open_page("launch", preset="tiny"), batch_size="64, 128")
    at.toggle(key="grid_evaluate").set_value(False)
    at = checked(at.run())
    assert "The runs are not evaluated (quality_every=0)." in words(at)
    checked(button(at, "Launch 2 runs").click().run())
    newest = queries.list_runs(context.engine)[:2]
    assert {run.config["quality_every"] for run in newest} == {0}
    at = grid_page(open_page("launch", preset="starter"), batch_size="64, 128")
    assert "Each run is evaluated every 12 epochs and after the last (quality_every)." in words(at)
    assert not [one for one in at.toggle if one.key == "grid_evaluate"]
    at = grid_page(open_page("launch", preset="showers_tiny"), seed="0, 1")
    assert at.toggle(key="grid_evaluate").value is False


def test_reused_runs_are_evaluated(context: Context, make_run: MakeRun) -> None:
    done = make_run("done", epochs=2, batch_size=16)
    at = grid_page(open_page("launch", preset="tiny"), batch_size="16, 32")
    checked(button(at, "Launch 1 run").click().run())
    assert list(requests.newest_evaluations(context.engine)) == [done.id]


def test_a_double_click_launches_one_grid(context: Context) -> None:
    at = grid_page(open_page("launch", preset="tiny"), batch_size="16, 32")
    pressed = button(at, "Launch 2 runs")
    checked(pressed.click().run())
    checked(pressed.click().run())  # its second click, from before the page was generated anew
    assert queries.count_runs(context.engine) == 2


def test_finished_runs_are_used_again_on_request(context: Context, make_run: MakeRun) -> None:
    done = make_run("done", epochs=2, batch_size=16)
    at = grid_page(open_page("launch", preset="tiny"), batch_size="16, 32")
    assert [row["finished"] for row in table(at)] == [done.id, None]
    assert metrics(at)["Reused"] == "1"
    at.toggle(key="grid_reuse").set_value(False)
    assert metrics(checked(at.run()))["Runs"] == "2"
    at.toggle(key="grid_reuse").set_value(True)
    at = checked(button(checked(at.run()), "Launch 1 run").click().run())
    [made] = [run for run in queries.list_runs(context.engine) if run.sweep]
    assert links(at)["Compare them"] == f"runs={done.id}%2C{made.id}"


@pytest.mark.usefixtures("context")
@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        (
            {"batch_size": "32, many"},
            "batch_size=many is not allowed: it must be a whole number (default 64).",
        ),
        ({"batch_size": "32, 32"}, "batch_size lists 32 twice."),
        ({"batch_size": ""}, "batch_size has no values"),
        ({"batch_size": "0"}, "it must be at least 1"),
        ({"precision": []}, "precision has no values"),
        ({"batch_size": "x", "seed": "y"}, "seed=y is not allowed"),
        ({"seed": "1, 2", "seeds": 2}, "seed is already varied"),
        ({"seeds": 1}, "Nothing to vary"),
        ({"batch_size": "16, 32", "seeds": 101}, "This sweep has 202 runs; the limit is 200"),
    ],
)
def test_bad_grids_give_one_sentence_and_no_launch(values: dict[str, Any], sentence: str) -> None:
    at = grid_page(open_page("launch"), **values)
    assert sentence in words(at)
    assert button(at, "Launch the sweep").disabled


@pytest.mark.usefixtures("context")
@pytest.mark.parametrize("name", [name for name in HOSTILE_NAMES if "," not in name])
def test_hostile_values_are_text(name: str) -> None:
    at = grid_page(open_page("launch", preset="tiny"), dataset=["images"], images_path=name)
    assert table(at)[0]["values"][1] == formatting.shorten(name, 40)


@pytest.mark.usefixtures("context")
def test_a_grid_without_a_possible_run() -> None:
    at = grid_page(open_page("launch", preset="tiny"), batch_size="256, 512")
    assert "No combination can run" in words(at)
    assert button(at, "Launch 0 runs").disabled


@pytest.mark.usefixtures("context")
def test_forged_settings_and_values_are_dropped() -> None:
    at = grid_page(open_page("launch", preset="tiny"), batch_size="16, 32", precision=["float32"])
    at.session_state["grid_fields"] = ["batch_size", "no such setting", "precision"]
    at.session_state["grid_values_precision"] = ["float8", "mixed_bfloat16"]
    assert [row["values"] for row in table(checked(at.run()))] == [
        ["16", "mixed_bfloat16"],
        ["32", "mixed_bfloat16"],
    ]


def test_what_changed_since_the_table_was_drawn_is_shown_first(context: Context) -> None:
    at = grid_page(open_page("launch", preset="tiny"), precision=["float32", "mixed_float16"])
    make_worker(context)  # without a GPU; the page was generated before it said so
    at = checked(button(at, "Launch 2 runs").click().run())
    assert queries.count_runs(context.engine) == 0
    assert "needs a GPU and none was found" in table(at)[1]["remark"]
    assert "The available hardware has changed" in words(at)
    checked(button(at, "Launch 1 run").click().run())
    assert queries.count_runs(context.engine) == 1


@pytest.mark.thorough
def test_a_grid_from_a_clone_names_its_parent(context: Context, make_run: MakeRun) -> None:
    parent = make_run("parent", preset="tiny", seed=3)
    at = grid_page(open_page("launch", clone=parent.id), batch_size="16, 64")
    checked(button(at, "Launch 2 runs").click().run())
    made = [run for run in queries.list_runs(context.engine) if run.sweep]
    assert [(run.parent_id, run.preset, run.config["seed"]) for run in made] == [
        (parent.id, "tiny", 3)
    ] * 2


def test_a_grid_can_be_a_study(context: Context) -> None:
    at = grid_page(open_page("launch", preset="tiny"), batch_size="16, 32", seeds=2)
    at.toggle(key="grid_study").set_value(True)
    at.text_input(key="grid_name").set_value("my question")
    at = checked(button(checked(at.run()), "Launch 4 runs").click().run())
    [(stored, states)] = studies.listed(context.engine)
    assert (stored.title, states) == ("my question", {"queued": 4})
    assert stored.definition["parts"][0]["vary"] == {"batch_size": [16, 32]}
    assert links(at)["Figures of the study"] == f"study={stored.id}"
    shown = open_page("studies", study=stored.id)
    assert "What is the effect of batch_size?" in words(shown)


def test_a_study_has_no_holes(context: Context) -> None:
    at = grid_page(open_page("launch", preset="tiny"), batch_size="16, 4000")
    at.toggle(key="grid_study").set_value(True)
    at = checked(button(checked(at.run()), "Launch 1 run").click().run())
    assert "The study grid cannot run" in words(at)
    assert studies.listed(context.engine) == []
