"""A sweep by mouse alone: presets, values, table, one launch, and the ways on from it. No
worker: nothing trains."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from ganboard.db.runs import queries
from ganboard.worker.context import Context
from tests.factories import make_run, make_worker


@pytest.mark.thorough
@pytest.mark.slow
def test_a_grid_is_built_launched_and_followed(
    page: Page, server: str, context: Context, complaints: list[str], shot: Callable[[str], None]
) -> None:
    make_run(
        context, "before", batch_size=32, limit=None, steps_per_epoch=56, seconds_per_epoch=1.5
    )
    page.goto(f"{server}/launch")
    page.get_by_role("button", name="More presets").focus()
    page.keyboard.press("Enter")  # the presets are reached without a mouse too
    page.get_by_role("button", name="Use tiny").focus()
    page.keyboard.press("Enter")
    expect(page.locator(".st-key-preset_tiny").get_by_text("In use")).to_be_visible()
    expect(page).to_have_url(f"{server}/launch?preset=tiny")
    page.get_by_role("radio", name="Sweep").or_(
        page.get_by_role("button", name="Sweep")
    ).first.click()
    builder = page.locator(".st-key-grid_builder")
    values = builder.get_by_role("textbox", name="Batch size (images)", exact=True)
    table = builder.get_by_role("region", name="The runs of this sweep")
    # what is typed before would be lost with the form that stands there until then
    expect(table).to_be_visible()
    expect(page.get_by_test_id("stApp")).to_have_attribute("data-test-script-state", "notRunning")
    values.fill("16, 32, 256")
    values.press("Enter")
    # with the heading: three batches, two precisions
    expect(table.get_by_role("row")).to_have_count(7)
    expect(table.locator("del")).to_have_count(4)
    expect(table.get_by_text("batch_size=256 is larger than limit=128").first).to_be_visible()
    shot("launch_grid")

    # A double click launches it once.
    make_worker(context)
    page.reload()  # the form of a tab lives on the server: the address brings the preset back
    expect(page.locator(".st-key-preset_tiny").get_by_text("In use")).to_be_visible()
    page.get_by_role("radio", name="Sweep").or_(
        page.get_by_role("button", name="Sweep")
    ).first.click()
    expect(table).to_be_visible()
    expect(page.get_by_test_id("stApp")).to_have_attribute("data-test-script-state", "notRunning")
    values.fill("16, 32")
    values.press("Enter")
    builder.get_by_role("button", name="Launch 4 runs").dblclick()
    expect(builder.get_by_text("Launched", exact=False).first).to_be_visible()
    expect(builder.get_by_text("0 of 4 runs ended")).to_be_visible()
    assert queries.count_runs(context.engine) == 5
    shot("launch_grid_done")
    builder.get_by_role("link", name="Compare them").click()
    expect(page.get_by_role("heading", name="Compare runs")).to_be_visible()
    assert complaints == []


@pytest.mark.parametrize(
    "milliseconds", [0, *(pytest.param(one, marks=pytest.mark.thorough) for one in (40, 80, 160))]
)
def test_a_preset_is_taken_whole_however_soon_the_next_click_comes(
    page: Page, server: str, milliseconds: int
) -> None:
    page.goto(f"{server}/launch?preset=tiny")
    limit, epochs = (page.get_by_label(label, exact=True) for label in ("Limit (images)", "Epochs"))
    expect(epochs).to_have_value("2")
    expect(page.get_by_test_id("stApp")).to_have_attribute("data-test-script-state", "notRunning")
    clicked = [
        page.get_by_role("button", name="Use starter").element_handle(),
        page.get_by_role("radio", name="Sweep")
        .or_(page.get_by_role("button", name="Sweep"))
        .first.element_handle(),
        milliseconds,
    ]
    page.evaluate(
        "async ([one, two, ms]) => { one.click(); await new Promise(r => setTimeout(r, ms));"
        " two.click(); }",
        clicked,
    )
    expect(page.get_by_role("region", name="The runs of this sweep")).to_be_visible()
    expect(page.get_by_test_id("stApp")).to_have_attribute("data-test-script-state", "notRunning")
    expect(limit).to_have_value("")
    expect(epochs).to_have_value("60")
