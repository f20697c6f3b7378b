"""Every page of the dashboard with something on it: what the tests of appearance, access and errors
walk through."""

from __future__ import annotations

from collections.abc import Iterator

from playwright.sync_api import Page, expect

from ganboard.db.models import Run
from tests.scale.tab import new_tab

VIEWPORTS = {
    "phone": {"width": 390, "height": 844},
    "desktop": {"width": 1440, "height": 900},
    "wide": {"width": 2560, "height": 1440},
}
TABS = "[data-testid=stTabs] [role=tab]"
PATIENCE = 60_000  # milliseconds


def walk(page: Page, server: str, runs: list[Run]) -> Iterator[str]:
    """Open every page that there is, and every tab of those that have some; yields the name of what
    is open."""
    queries = {"run": f"?run={runs[0].id}", "compare": f"?runs={runs[0].id},{runs[1].id}"}
    with new_tab(server) as tab:  # a phone shows the navigation behind a button
        tab.open()
        paths = tab.pages
    assert {"launch", "run", "compare", "system"} <= set(paths), paths
    for path in paths:
        page.goto(f"{server}/{path}{queries.get(path, '')}")
        settled(page)
        yield path or "runs"
        if path in queries:
            tabs = page.locator(TABS)
            for label in tabs.all_inner_texts()[1:]:
                tabs.get_by_text(label, exact=True).click()
                settled(page)
                yield f"{path}-{label.lower().replace(' ', '-')}"


def settled(page: Page) -> None:
    """Wait until the script has run and what it drew stands."""
    expect(page.get_by_test_id("stHeading").first).to_be_visible(timeout=PATIENCE)
    expect(page.locator("[data-testid=stApp][data-test-script-state=notRunning]")).to_be_visible(
        timeout=PATIENCE
    )
    expect(page.locator(".live-plotly:empty")).to_have_count(0, timeout=PATIENCE)
    expect(page.get_by_test_id("stSkeleton")).to_have_count(0, timeout=PATIENCE)
