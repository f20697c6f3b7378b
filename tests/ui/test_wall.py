"""The latent wall on both pages that have it: which images, who shares latents, which metric."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from streamlit.testing.v1 import AppTest

from ganboard.db.models import Run
from ganboard.db.runs import reports
from ganboard.worker.context import Context
from ganboard.worker.figures.palette import run_colour
from tests.factories import png
from tests.ui.pages import button, open_page, words
from tests.ui.pictures import components
from tests.ui.test_compare import ids

MakeRun = Callable[..., Run]


def wall(at: AppTest) -> dict[str, Any]:
    """What the browser got."""
    [found] = [data for data in components(at) if "megabytes" in data]
    return dict(found)


def compared(*runs: Run, **params: str) -> AppTest:
    return open_page("compare", runs=ids(list(runs)), part="Latent wall", **params)


def test_rows_are_latents_columns_epochs_and_blocks_runs(make_run: MakeRun) -> None:
    runs = [make_run("long", epochs=3, quality_every=1), make_run("short", epochs=1, xla=True)]
    at = compared(*runs)
    found = wall(at)
    assert (found["columns"], found["latents"], found["word"]) == ([0, 1, 2, 3], 16, "Latent")
    long, short = found["runs"]
    assert (long["attempts"], short["attempts"]) == ([1, 1, 1, 1], [1, 1, None, None])
    assert (long["latents"], long["size"]) == (16, 28)
    assert [one["colour"] for one in found["runs"]] == [run_colour(run.number) for run in runs]
    assert [epoch for epoch, _ in long["points"]] == [1, 2, 3]
    assert short["points"] == []
    assert found["metric"]["label"].startswith("FID")
    # the run without a curve can be evaluated from here
    assert "1 of 2 runs has no evaluation." in words(at)
    assert button(at, "Evaluate it")


def test_fewer_latents_can_be_chosen(make_run: MakeRun) -> None:
    runs = make_run("a"), make_run("b")
    assert wall(compared(*runs, latents="8"))["latents"] == 8
    assert wall(compared(*runs, latents="0"))["latents"] == 16  # all
    at = compared(*runs)
    assert "no epoch was evaluated" in words(at)
    assert wall(at)["metric"] is None


def test_who_shares_latents_is_said(make_run: MakeRun) -> None:
    a, b = make_run("a"), make_run("b", xla=True)
    other = make_run("c", seed=1)
    at = compared(a, b)
    assert "All runs have the same latents (latent_dim=100): equal rows" in words(at)
    assert {one["group"] for one in wall(at)["runs"]} == {0}
    at = compared(a, b, other)
    said = words(at)
    assert "different latents: “a”, “b” (seed=0); “c” (seed=1)." in said
    assert [one["group"] for one in wall(at)["runs"]] == [0, 0, 1]
    assert wall(at)["about"] == [
        "2 of 3 runs have this latent.",
        "No other of these runs has this latent.",
    ]


def test_many_groups_are_counted(make_run: MakeRun) -> None:
    runs = [make_run(f"seed {seed}", seed=seed) for seed in range(5)]
    said = words(compared(*runs))
    assert "These runs are 5 groups with different latents (seed)." in said


def test_runs_without_images_are_named(make_run: MakeRun) -> None:
    at = compared(make_run("a"), make_run("waits", status="queued"))
    assert "Without images: waits." in words(at)
    assert len(wall(at)["runs"]) == 1
    at = compared(make_run("b", status="queued"), make_run("c", status="queued"))
    assert "None of these runs has saved an image grid yet." in words(at)


def test_a_run_has_a_wall_of_its_own(context: Context, make_run: MakeRun) -> None:
    run = make_run(epochs=2, quality_every=2)
    at = open_page("run", run=run.id, view="Latent wall", latent="5", at="1")
    found = wall(at)
    assert found["columns"] == [0, 1, 2]
    assert found["open"] == {"latent": 4, "run": None, "epoch": 1}
    assert "Every row is the same latent in all epochs." in words(at)
    for latent in ("0", "257", "x", "-1", "9" * 20):
        assert wall(open_page("run", run=run.id, view="Latent wall", latent=latent))["open"] is None
    waits = make_run(status="queued")
    assert "The first column appears" in words(open_page("run", run=waits.id, view="Latent wall"))


def test_the_player_opens_one_image(make_run: MakeRun) -> None:
    run = make_run(epochs=2)
    [player] = [
        data
        for data in components(open_page("run", run=run.id, view="Images", latent="3"))
        if "frames" in data
    ]
    assert player["layout"] == {"epoch": 2, "attempt": 1, "rows": 4, "columns": 4}
    assert player["wall"]["open"]["latent"] == 2
    assert player["wall"]["runs"][0]["attempts"] == [1, 1, 1]


def test_only_grids_of_one_layout_are_one_wall(context: Context, make_run: MakeRun) -> None:
    run = make_run(epochs=2, status="running")
    own = {"run_id": run.id, "attempt": 1}
    reports.add_grid(context.engine, **own, epoch=1, rows=2, columns=8, png=png(1))
    assert wall(open_page("run", run=run.id, view="Latent wall"))["columns"] == [0, 2]
