"""Shortcuts and the command palette, on pages as the browser has them."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import Locator, Page, expect

from ganboard.db.models import Run
from tests.e2e.sights import settled
from tests.polling import wait_until

MakeRun = Callable[..., Run]
PATIENCE = 20_000  # milliseconds


def listed(page: Page) -> Locator:
    """The list of shortcuts, open; the page may be there before its shortcuts."""
    shortcuts = page.get_by_role("dialog", name="Keyboard shortcuts")

    def is_open() -> bool:
        if not shortcuts.is_visible():
            page.keyboard.press("?")
        return shortcuts.is_visible()

    wait_until(is_open, seconds=20, what="the list of shortcuts")
    return shortcuts


@pytest.mark.browser
def test_pages_runs_and_search_are_a_few_keys_away(
    make_run: MakeRun, server: str, page: Page, complaints: list[str]
) -> None:
    wanted = make_run("the one that I want")
    make_run("another")
    page.goto(server)
    expect(page.get_by_text("2 runs", exact=True)).to_be_visible(timeout=PATIENCE)
    settled(page)  # the field that is searched in would be drawn again

    shortcuts = listed(page)
    expect(shortcuts).to_contain_text("Go to Launch")
    page.keyboard.press("Escape")
    expect(shortcuts).to_be_hidden()

    page.keyboard.press("/")
    # what is typed into a field is no shortcut
    page.keyboard.type("g?l")
    expect(page.get_by_placeholder("Search")).to_have_value("g?l")
    page.get_by_placeholder("Search").blur()

    page.keyboard.press("Control+k")
    palette = page.get_by_role("dialog", name="Commands")
    page.keyboard.type("no such thing")
    expect(palette.get_by_text("No matching command.")).to_be_visible()
    page.keyboard.press("Control+a")
    page.keyboard.type("want ONE")
    expect(palette.get_by_role("option")).to_have_count(1)
    page.keyboard.press("Enter")
    page.wait_for_url(f"**/run?run={wanted.id}", timeout=PATIENCE)
    expect(page.get_by_role("heading", name=wanted.name)).to_be_visible(timeout=PATIENCE)

    page.keyboard.press("g")
    page.keyboard.press("y")
    page.wait_for_url("**/system", timeout=PATIENCE)
    expect(page.get_by_role("heading", name="System")).to_be_visible(timeout=PATIENCE)
    assert not complaints


@pytest.mark.browser
def test_the_list_of_runs_is_used_without_a_mouse(
    make_run: MakeRun, server: str, page: Page, complaints: list[str]
) -> None:
    oldest, middle, newest = (make_run(name) for name in ("oldest", "middle", "newest"))
    page.goto(server)
    expect(page.get_by_text("3 runs", exact=True)).to_be_visible(timeout=PATIENCE)
    shortcuts = listed(page)
    page.keyboard.press("Escape")
    expect(shortcuts).to_be_hidden()
    for key, run in (("j", newest), ("j", middle), ("j", oldest), ("k", middle)):
        page.keyboard.press(key)
        page.wait_for_url(f"**preview={run.id}*", timeout=PATIENCE)
        expect(page.locator(".st-key-latest")).to_contain_text(run.name, timeout=PATIENCE)
    page.keyboard.press("x")
    expect(page.get_by_text("1 run selected")).to_be_visible(timeout=PATIENCE)
    page.keyboard.press("j")
    page.wait_for_url(f"**preview={oldest.id}*", timeout=PATIENCE)
    page.keyboard.press("x")
    expect(page.get_by_text("2 runs selected")).to_be_visible(timeout=PATIENCE)
    page.keyboard.press("c")
    page.wait_for_url(f"**/compare?runs={middle.id}%2C{oldest.id}**", timeout=PATIENCE)
    page.goto(f"{server}/?preview={oldest.id}")
    expect(page.locator(".st-key-latest")).to_contain_text(oldest.name, timeout=PATIENCE)
    listed(page)
    page.keyboard.press("Escape")
    expect(shortcuts).to_be_hidden()
    page.keyboard.press("Enter")
    page.wait_for_url(f"**/run?run={oldest.id}*", timeout=PATIENCE)
    assert not complaints
