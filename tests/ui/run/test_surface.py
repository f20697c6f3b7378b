"""The loss surface below a run's path: asked for, waited for, shown, refused."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from sqlalchemy import update
from sqlmodel import col
from streamlit.testing.v1 import AppTest

from ganboard.db import requests
from ganboard.db.engine import writing
from ganboard.db.models import INFERENCE, Run
from ganboard.db.runs.imports import IMPORTED
from ganboard.gan.landscape.geometry import SurfaceRequest
from ganboard.worker.context import Context
from tests.factories import make_worker
from tests.surfaces import make_surface
from tests.ui.pages import button, checked, open_page, words

MakeRun = Callable[..., Run]


def opened(run: Run) -> AppTest:
    return open_page("run", run=run.id, view="Descent path")


def waiting(at: AppTest) -> str:
    return str(at.get("progress")[-1].proto.text)


def test_a_surface_is_asked_for_and_waited_for(context: Context, make_run: MakeRun) -> None:
    run, other = make_run("first"), make_run("second", batch_size=32)
    make_run("of other data", dataset="mnist", limit=256)
    at = opened(run)
    assert "the loss in a plane" in words(at).lower()
    [others] = [box for box in at.multiselect if box.key == "surface_others"]
    assert len(others.options) == 1
    others.set_value([other.id])
    at = checked(at.run())
    at = checked(button(at, "Compute the surface").click().run())
    [asked] = requests.of_runs(context.engine, requests.SURFACE, [run.id, other.id])
    assert asked.options == SurfaceRequest().model_dump()
    assert "No inference worker is running" in waiting(at)
    make_worker(context, "here:inference:1", kind=INFERENCE)
    assert "Waiting for the runs to end or for the analysis worker." in waiting(checked(at.run()))
    claimed = requests.claim(context.engine, requests.ANALYSES)
    assert claimed is not None
    requests.heartbeat(context.engine, claimed, "computing", 0.5)
    assert "Computing" in waiting(checked(at.run()))


def test_an_answer_is_drawn_with_its_shares(context: Context, make_run: MakeRun) -> None:
    run = make_run("first")
    make_surface(context, [run.id])
    at = opened(run)
    assert (
        "The plane explains 91.0% of the variance of G's path and 82.0% of D's; 256 images"
        in words(at)
    )
    assert button(at, "Compute again")


def test_a_run_without_snapshots_says_so_before_a_surface_is_requested(make_run: MakeRun) -> None:
    at = opened(
        make_run(
            "a street", snapshots=0, model="pix2pix", dataset="vortex_street", geometry="64x64"
        )
    )
    assert "kept no snapshots of its weights, so no surface" in words(at)
    assert "Compute the surface" not in [one.label for one in at.button]


def test_an_error_is_shown_and_the_request_repeated(context: Context, make_run: MakeRun) -> None:
    run = make_run("first")
    make_surface(
        context,
        [run.id],
        result=None,
        facts={},
        error="Run <b> kept no snapshots of its weights. Train a clone with snapshots=10.",
    )
    at = opened(run)
    assert "kept no snapshots" in words(at)
    checked(button(at, "Compute again").click().run())
    assert [
        one.error is None for one in requests.of_runs(context.engine, requests.SURFACE, [run.id])
    ] == [True, False]


@pytest.mark.parametrize("status", ["running", "queued", "failed"])
def test_runs_in_any_state_can_be_asked_for(
    context: Context, make_run: MakeRun, status: str
) -> None:
    run = make_run("first", status=status)
    checked(button(opened(run), "Compute the surface").click().run())
    assert len(requests.of_runs(context.engine, requests.SURFACE, [run.id])) == 1


def test_too_many_requests_are_reported(context: Context, make_run: MakeRun) -> None:
    run = make_run("first")
    for size in range(requests.ANALYSES.max_waiting):
        requests.ask(context.engine, requests.SURFACE, [run.id], {"size": size})
    at = checked(button(opened(run), "Compute the surface").click().run())
    assert (
        "20 surfaces and predictions are already waiting. Try again when some are finished."
        in words(at)
    )


def test_an_imported_run_is_marked(context: Context, make_run: MakeRun) -> None:
    run = make_run("from the server")
    with writing(context.engine) as session:
        session.execute(
            update(Run)
            .where(col(Run.id) == run.id)
            .values(facts={**run.facts, IMPORTED: "2026-11-21T10:00:00+00:00"})
        )
    assert ":blue-badge[:material/input: Imported]" in words(open_page("run", run=run.id))
