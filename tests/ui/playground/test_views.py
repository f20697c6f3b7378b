"""The views of the playground: interpolation, neighbours, and what each model offers."""

from __future__ import annotations

from collections.abc import Callable

from ganboard.db import requests
from ganboard.db.models import Run
from ganboard.worker.context import Context
from tests.ui.pages import button, checked, open_page, words
from tests.ui.playground.answers import choose, reply, sheets, worker_alive

MakeRun = Callable[..., Run]


def test_two_picked_images_are_walked_between(context: Context, make_run: MakeRun) -> None:
    run = make_run()
    at, _ = reply(context, open_page("playground", run=run.id, seed="5"))
    assert [
        button(at, label).disabled for label in ("Interpolate between the two", "Look around")
    ] == [True, True]
    at.query_params["picked"] = "9,2"
    at = checked(at.run())
    assert [
        button(at, label).disabled
        for label in ("Interpolate between the two", "Nearest training images", "Look around")
    ] == [False, False, True]
    button(at, "Interpolate between the two").click()
    at, request = reply(context, checked(at.run()), columns=9, rows=1)
    assert request.kind == "interpolate"
    assert request.options == {
        "seed": 5,
        "psi": 1.0,
        "other": 5,
        "first": 9,
        "second": 2,
        "steps": 9,
        "rows": 1,
    }
    assert "From image 10 to image 3 of the seed, along a great circle" in words(at)
    assert sheets(at)[0]["pickable"] is False
    button(at, "Between two seeds instead").click()
    at, request = reply(context, checked(at.run()), columns=9, rows=4)
    assert request.options == {
        "seed": 5,
        "psi": 1.0,
        "other": 1,
        "first": 0,
        "second": 0,
        "steps": 9,
        "rows": 4,
    }
    assert sheets(at)[0]["labels"][8] == "Row 1, 100% of the way from seed 5 to seed 1"


def test_a_new_seed_forgets_what_was_picked(context: Context, make_run: MakeRun) -> None:
    run = make_run()
    at, first = reply(context, open_page("playground", run=run.id, picked="3"))
    button(at, "New seed").click()
    at, second = reply(context, checked(at.run()))
    assert first.options["seed"] != second.options["seed"]
    assert sheets(at)[0]["picked"] == []


def test_nearest_images_come_with_distances(context: Context, make_run: MakeRun) -> None:
    run = make_run()
    at = open_page("playground", run=run.id, do="Nearest", picked="3,1")
    facts = {
        "distances": [[4.0, 5.0, 6.0, 7.0, 8.0, 9.0], [1.0, None, 3.0, 4.0, 5.0, 6.0]],
        "spacing": 4.25,
        "searched": 128,
    }
    at, request = reply(context, at, columns=7, rows=2, **facts)
    assert request.options == {"seed": 0, "psi": 1.0, "picks": [3, 1]}
    [sheet] = sheets(at)
    assert sheet["captions"][:8] == [
        "drawn",
        "4.00",
        "5.00",
        "6.00",
        "7.00",
        "8.00",
        "9.00",
        "drawn",
    ]
    assert sheet["captions"][8:10] == ["1.00", "–"]
    assert "nearest of 128 training images" in words(at)
    assert "nearest neighbour is 4.25" in words(at)


def test_around_one_image(context: Context, make_run: MakeRun) -> None:
    run = make_run()
    at, request = reply(
        context, open_page("playground", run=run.id, do="Around", picked="3"), columns=7, rows=7
    )
    assert request.options == {"seed": 0, "psi": 1.0, "row": 3, "degrees": 25.0}
    assert sheets(at)[0]["labels"][24] == "Image 4 of seed 0"


def test_showers_are_drawn_for_a_particle(context: Context, make_run: MakeRun) -> None:
    run = make_run("showers", model="gan3d", dataset="showers", geometry="51x51x25")
    worker_alive(context)
    at = choose(open_page("playground", run=run.id), "energy", 250)
    assert [tab.label for tab in at.tabs] == ["Draw", "Interpolate", "Around"]
    assert "Nearest training images" not in [one.label for one in at.button]
    at, request = reply(context, at)
    assert (request.kind, request.options["energy"], request.options["angle"]) == (
        "draw",
        250.0,
        90.0,
    )
    assert "Showers are seen from the side" in words(at)
    small = make_run("small showers", model="gan3d", dataset="showers", geometry="25x25x25")
    at = open_page("playground", run=small.id)
    assert "angle" not in [slider.key for slider in at.slider]


def test_a_pix2pix_run_leads_to_its_predictions(context: Context, make_run: MakeRun) -> None:
    run = make_run("a street", model="pix2pix", dataset="vortex_street", geometry="64x64")
    at = open_page("playground", run=run.id)
    assert (
        "model=pix2pix has no latent space. Use the Prediction tab of the run's page to predict"
        " flows." in words(at)
    )
    assert at.get("page_link")[0].proto.label == "Open its predictions"
    assert requests.claim(context.engine, requests.IMAGES) is None
