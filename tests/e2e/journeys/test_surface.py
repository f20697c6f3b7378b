"""A loss surface by mouse, on a real `ganboard up`: asked for, computed by its analysis worker,
drawn beside the path."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from ganboard.db import requests
from ganboard.worker.context import Context
from tests.cli import document
from tests.e2e.until import until
from tests.up import Up

PLOT = ".live-plotly.js-plotly-plot"


@pytest.fixture
def server(up: Up) -> str:
    return up.url


@pytest.mark.slow
@pytest.mark.thorough
def test_a_surface_is_asked_for_computed_and_drawn(
    page: Page, up: Up, context: Context, complaints: list[str], shot: Callable[[str], None]
) -> None:
    trained = document(
        "train",
        "--preset",
        "tiny",
        "--set",
        "epochs=3",
        "--set",
        "limit=32",
        "--set",
        "batch_size=16",
    )
    page.goto(f"{up.url}/run?run={trained['id']}&view=Descent+path")
    expect(page.get_by_role("heading", name="Loss surface")).to_be_visible()
    expect(page.locator(PLOT)).to_have_count(2)  # the live path
    page.get_by_role("radio", name="Coarse").or_(
        page.get_by_role("button", name="Coarse")
    ).first.click()
    expect(page.get_by_test_id("stApp")).to_have_attribute("data-test-script-state", "notRunning")
    page.get_by_role("button", name="Compute the surface").click()
    expect(page.get_by_test_id("stProgress").last).to_be_visible()
    expect(page.get_by_text("of the variance of G's path")).to_be_visible(timeout=180_000)
    expect(page.locator(PLOT)).to_have_count(5)  # both surfaces and the radii beside it
    [found] = requests.of_runs(context.engine, requests.SURFACE, [trained["id"]])
    assert (found.options["size"], found.error, found.tries) == (11, None, 1)
    page.get_by_text("2-D", exact=True).click()
    until(page, "() => document.querySelectorAll('.contourlayer .contour').length === 2")
    shot("run_surface")
    assert complaints == []
