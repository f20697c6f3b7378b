"""The curves of the selected runs beside the list of runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import orjson
from streamlit.testing.v1 import AppTest

from ganboard.app import navigation
from ganboard.db.models import Run
from ganboard.db.runs import reports
from ganboard.worker.context import Context
from ganboard.worker.figures.palette import run_colour
from tests.ui.pages import open_page, select_runs, words
from tests.ui.pictures import numbers

MakeRun = Callable[..., Run]


def ids_of(*runs: Run) -> list[str]:
    return [run.id for run in runs]


def overlays(at: AppTest) -> list[dict[str, Any]]:
    given = [element.proto.bytes for element in at.get("bidi_component")]
    return [orjson.loads(data) for data in given if data.startswith(b'{"eyes"')]


def overlay(at: AppTest) -> dict[str, Any]:
    [found] = overlays(at)
    return found


def test_selected_runs_have_curves_in_the_colours_of_the_table(make_run: MakeRun) -> None:
    one, two = make_run("one", epochs=3), make_run("two", epochs=5)
    make_run("three")
    at = open_page()
    assert overlays(at) == []
    at = select_runs(at, ids_of(one, two))
    found = overlay(at)
    lines = {trace["uid"]: trace["line"]["color"] for trace in found["data"]}
    assert lines == {run.id: run_colour(run.number) for run in (one, two)}
    assert {(eye["curve"], eye["name"], eye["colour"]) for eye in found["eyes"]} == {
        (run.id, run.name, run_colour(run.number)) for run in (one, two)
    }
    # a curve is hidden by its legend group
    assert {trace["legendgroup"] for trace in found["data"]} == {one.id, two.id}
    assert overlays(select_runs(at, [])) == []


def test_the_curve_can_be_chosen(make_run: MakeRun) -> None:
    run, without = make_run("one", epochs=4, quality_every=2), make_run("two", epochs=4)
    at = select_runs(open_page(curve="Quality"), ids_of(run, without))
    curves = {trace["uid"]: numbers(trace["x"]) for trace in overlay(at)["data"]}
    assert curves[run.id] == [2, 4]
    assert [eye["curve"] for eye in overlay(at)["eyes"]] == [without.id, run.id]
    assert "1 of 2 runs has no evaluation." in words(at)
    at = select_runs(open_page(curve="Quality"), ids_of(without))
    assert "None of the selected runs was evaluated." in words(at)


def test_groups_are_means_with_their_number_of_runs(make_run: MakeRun) -> None:
    runs = [make_run(f"s{seed}", seed=seed) for seed in range(3)]
    other = make_run("xla", xla=True)
    at = select_runs(open_page(group="xla"), ids_of(*runs, other))
    found = overlay(at)
    assert [eye["name"] for eye in found["eyes"]] == ["xla off (3 runs)", "xla on (1 run)"]
    groups = {trace["legendgroup"] for trace in found["data"]}
    assert groups == {eye["curve"] for eye in found["eyes"]}


def test_new_epochs_appear(context: Context, make_run: MakeRun) -> None:
    run = make_run("live", status="running", epochs=2)
    at = select_runs(open_page(), ids_of(run))
    assert numbers(overlay(at)["data"][0]["x"]) == [1, 2]
    reports.finish_epoch(
        context.engine, run_id=run.id, attempt=run.attempt, epoch=3, steps=4, images=128,
        g_loss=0.9, d_loss=1.1, seconds=2.0, compile_seconds=0.0, g_path=(0.0, 0.0),
        d_path=(0.0, 0.0), measures={},
    )  # fmt: skip
    assert numbers(overlay(at.run())["data"][0]["x"]) == [1, 2, 3]


def test_no_more_runs_than_can_be_told_apart(make_run: MakeRun, monkeypatch: Any) -> None:
    monkeypatch.setattr(navigation, "MAX_COMPARED", 2)
    runs = [make_run(name) for name in "abc"]
    at = select_runs(open_page(), ids_of(*runs))
    assert len(overlay(at)["eyes"]) == 2
    assert "The first 2 of 3 selected runs." in words(at)
