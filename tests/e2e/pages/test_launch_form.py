"""The form of the page Launch in the browser: what is typed is what runs, or nothing does."""

from __future__ import annotations

from collections.abc import Callable

from playwright.sync_api import Locator, Page, expect

from ganboard.db.runs import queries
from ganboard.worker.context import Context

QUALITY_EVERY = "Quality every (epochs)"
REFUSED = "is not allowed: it must be"


def field(page: Page, label: str) -> Locator:
    return page.get_by_label(label, exact=True)


def enter(box: Locator, typed: str) -> None:
    """Type as a person does: key by key, which also a field of numbers takes."""
    box.click()
    box.press("Control+a")
    box.press("Delete")
    box.press_sequentially(typed)


def test_nothing_runs_but_what_was_typed(
    page: Page, server: str, context: Context, complaints: list[str], shot: Callable[[str], None]
) -> None:
    page.goto(f"{server}/launch?preset=tiny")
    launch = page.get_by_role("button", name="Launch", exact=True)
    batch, smoothing = field(page, "Batch size (images)"), field(page, "Label smoothing")
    expect(launch).to_be_enabled()
    for box, typed, usual in (
        (batch, "0", "16"),
        (batch, "12.5", "16"),
        (batch, "1e", "16"),
        (batch, "", "16"),
        (smoothing, "0.9", "0.1"),
    ):
        enter(box, typed)
        box.press("Enter")
        expect(launch).to_be_disabled()
        expect(page.get_by_text(REFUSED).first).to_be_visible()
        expect(box).to_have_value(typed)
        expect(page.get_by_text("Press Enter to apply")).to_have_count(0)
        shot(f"launch_refused_{typed}")
        enter(box, usual)
        box.press("Enter")
        expect(launch).to_be_enabled()

    enter(batch, "0")
    launch.click()  # without Enter
    expect(page.get_by_text(REFUSED).first).to_be_visible()
    expect(launch).to_be_disabled()
    assert queries.count_runs(context.engine) == 0

    enter(batch, "16")
    batch.press("Enter")
    expect(launch).to_be_enabled()
    enter(batch, "24")
    launch.click()
    expect(page.get_by_role("button", name="Clone")).to_be_visible()
    [run] = queries.list_runs(context.engine)
    assert (run.config["batch_size"], run.config["label_smoothing"]) == (24, 0.1)
    assert complaints == []


def test_a_search_opens_the_groups_of_what_it_finds(
    page: Page, server: str, complaints: list[str]
) -> None:
    page.goto(f"{server}/launch?preset=tiny")
    search = page.get_by_placeholder("Search settings")
    # by its role: what is in a closed group has none
    every = page.get_by_role("textbox", name=QUALITY_EVERY, exact=True)
    expect(page.get_by_role("button", name="Launch", exact=True)).to_be_enabled()
    expect(every).to_be_hidden()
    search.fill("quality")
    enter(every, "3")
    every.press("Enter")
    search.fill("")
    expect(field(page, "Epochs")).to_be_visible()
    expect(every).to_have_value("3")
    expect(every).to_be_visible()  # its group has a change
    assert not complaints
