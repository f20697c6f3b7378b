"""A prediction by mouse, on a real `ganboard up`: asked for, computed by its analysis worker,
shown; then one that cannot be."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from ganboard.db import requests
from ganboard.db.models import Run
from ganboard.worker.context import Context
from tests.streets import make_street
from tests.up import Up


@pytest.fixture
def server(up: Up) -> str:
    return up.url


@pytest.mark.slow
@pytest.mark.thorough
def test_a_street_is_continued_and_shown(
    page: Page,
    up: Up,
    context: Context,
    make_run: Callable[..., Run],
    complaints: list[str],
    shot: Callable[[str], None],
) -> None:
    run = make_street(context, make_run)
    page.set_viewport_size({"width": 1280, "height": 2200})
    page.goto(f"{up.url}/run?run={run.id}&view=Prediction")
    page.get_by_label("Steps", exact=True).fill("3")
    page.get_by_label("Steps", exact=True).press("Enter")
    page.get_by_role("button", name="Predict", exact=True).click()
    expect(page.get_by_test_id("stProgress").last).to_be_visible()
    expect(page.get_by_alt_text("Vorticity of the real flows (top)")).to_be_visible(timeout=120_000)
    expect(page.locator(".live-plotly.js-plotly-plot")).to_have_count(5)
    expect(page.get_by_text("Square at Re 60: held-out shape")).to_be_visible()
    shot("run_prediction")
    [found] = requests.of_runs(context.engine, requests.PREDICTION, [run.id])
    assert (found.error, found.tries, found.facts["steps"]) == (None, 1, 3)
    page.get_by_label("Halo", exact=True).fill("8")
    page.get_by_label("Halo", exact=True).press("Enter")
    page.get_by_role("button", name="Predict", exact=True).click()
    expect(page.get_by_text("choose a halo of 0 or 16")).to_be_visible(timeout=60_000)
    expect(page.locator(".live-plotly.js-plotly-plot")).to_have_count(5)  # the last answer stays
    assert complaints == []
