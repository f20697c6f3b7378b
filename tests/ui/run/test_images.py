"""What the image player of a run is given; how it plays, tests/e2e/pages/test_run_page.py shows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from streamlit.testing.v1 import AppTest

from ganboard.db.models import Run
from ganboard.db.runs import commands, reports
from ganboard.worker.context import Context
from tests.factories import png
from tests.ui.pages import checked, open_page, words
from tests.ui.pictures import components

MakeRun = Callable[..., Run]


def player(at: AppTest) -> dict[str, Any]:
    [found] = components(at)
    return found


def add_grid(context: Context, run: Run, epoch: int) -> None:
    reports.add_grid(
        context.engine,
        run_id=run.id,
        attempt=run.attempt,
        epoch=epoch,
        rows=4,
        columns=4,
        png=png(epoch + 9),
    )


def test_every_grid_has_an_address_of_its_own(make_run: MakeRun) -> None:
    run = make_run("pictures", epochs=12)
    given = player(open_page("run", run=run.id, view="Images"))
    assert [frame["epoch"] for frame in given["frames"]] == list(range(13))
    assert given["frames"][7]["url"] == f"/api/runs/{run.id}/grids/7.png?attempt=1"
    assert (given["run"], given["best"], given["real"], given["start"]) == (
        run.id,
        None,
        None,
        None,
    )


def test_the_caption_says_what_the_pictures_are_made_from(make_run: MakeRun) -> None:
    street = make_run("street", model="pix2pix", dataset="vortex_street", geometry="64x64")
    for run, inputs in ((make_run("digits"), "latent vectors"), (street, "inputs")):
        assert f"from the same {inputs} every" in words(open_page("run", run=run.id, view="Images"))


def test_the_address_chooses_the_epoch(make_run: MakeRun) -> None:
    run = make_run("pictures", epochs=3)
    for at, start in (
        ("2", 2),
        ("0", 0),
        ("999", None),
        ("-1", None),
        ("02", None),
        ("x", None),
        ("", None),
    ):
        assert player(open_page("run", run=run.id, view="Images", at=at))["start"] == start


def test_real_images_stand_beside_and_are_no_epoch(context: Context, make_run: MakeRun) -> None:
    run = make_run("real", status="running", epochs=1)
    add_grid(context, run, -1)
    given = player(open_page("run", run=run.id, view="Images"))
    assert given["real"] == f"/api/runs/{run.id}/grids/-1.png?attempt=1"
    assert [frame["epoch"] for frame in given["frames"]] == [0, 1]


def test_new_grids_arrive_and_those_drawn_again_have_another_address(
    context: Context, make_run: MakeRun
) -> None:
    run = make_run("live", status="running", epochs=1)
    at = open_page("run", run=run.id, view="Images")
    add_grid(context, run, 2)
    assert [frame["epoch"] for frame in player(checked(at.run()))["frames"]] == [0, 1, 2]
    commands.finish(context.engine, run_id=run.id, attempt=1, status="suspended")
    again = commands.claim(context.engine, run_id=run.id, worker="w", lease_seconds=60)
    assert again is not None
    reports.add_grid(
        context.engine, run_id=run.id, attempt=2, epoch=2, rows=4, columns=4, png=png(5)
    )
    urls = [
        frame["url"][-1] for frame in player(open_page("run", run=run.id, view="Images"))["frames"]
    ]
    assert urls == ["1", "1", "2"]


def test_the_best_is_the_lowest_distance_with_a_grid(context: Context, make_run: MakeRun) -> None:
    run = make_run("quality", epochs=6, quality_every=1)
    assert player(open_page("run", run=run.id, view="Images"))["best"] == {
        "epoch": 6,
        "words": "FID (classifier) 8.67",
    }
    other = make_run("few grids", status="running", epochs=6, quality_every=1, grids=False)
    for epoch in (0, 3):
        add_grid(context, other, epoch)
    assert player(open_page("run", run=other.id, view="Images"))["best"] == {
        "epoch": 3,
        "words": "FID (classifier) 15.33",
    }


def test_without_grids_it_says_why(context: Context, make_run: MakeRun) -> None:
    run = make_run("begun", status="running", epochs=0, grids=False)
    add_grid(context, run, -1)
    assert "The first grid appears before the first step." in words(
        open_page("run", run=run.id, view="Images")
    )
    ended = make_run("ended", grids=False)
    assert "No samples were recorded." in words(open_page("run", run=ended.id, view="Images"))
