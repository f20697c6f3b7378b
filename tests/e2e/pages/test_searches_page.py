"""Searches in a real browser: set up on Launch, and shown with their figures."""

from __future__ import annotations

import re
from collections.abc import Callable

from playwright.sync_api import Page, expect

from ganboard.db.searches import searches
from ganboard.worker.context import Context
from ganboard.worker.searches import rounds
from tests.unit.worker.searches.conftest import train

PLOT = ".live-plotly.js-plotly-plot"


def test_a_search_is_set_up_and_followed(
    context: Context, server: str, page: Page, complaints: list[str], shot: Callable[[str], None]
) -> None:
    page.goto(f"{server}/launch?preset=tiny")
    quiet = page.get_by_test_id("stApp")
    for choice in ("Sweep", "Search"):
        # a click that comes before the page is complete would be lost
        expect(quiet).to_have_attribute("data-test-script-state", "notRunning")
        page.get_by_role("radio", name=choice).or_(
            page.get_by_role("button", name=choice, exact=True)
        ).first.click()
    builder = page.locator(".st-key-search_builder")
    expect(builder.get_by_text("20 runs, 1 at a time.")).to_be_visible()
    runs = builder.get_by_label("Runs", exact=True)
    runs.fill("2")
    runs.press("Enter")
    expect(builder.get_by_text("2 runs, 1 at a time.")).to_be_visible()
    builder.get_by_role("button", name="Start the search").click()
    builder.get_by_role("link", name="Show the search").click()
    expect(page.get_by_text("No run has been submitted yet.")).to_be_visible()
    (search,) = searches.listed(context.engine)
    assert re.search(f"search={search.id}", page.url)
    for _ in range(2):
        for run in rounds.make(context, search):
            train(context.engine, run.id)
    rounds.make(context, search)
    expect(page.get_by_text("2 of 2 runs ended")).to_be_visible()
    # by trial, three settings, parallel coordinates
    expect(page.locator(PLOT)).to_have_count(5)
    shot("search")
