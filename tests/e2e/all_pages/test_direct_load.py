"""The address of a page opened in a new tab: nothing that it asks for is missing."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, Response

from ganboard.app.web import index
from ganboard.db.models import Run
from tests.e2e.sights import settled
from tests.scale.tab import new_tab


@pytest.mark.thorough
def test_no_page_asks_for_what_is_not_there(
    page: Page, server: str, make_run: Callable[..., Run]
) -> None:
    run = make_run("mine", epochs=2)
    with new_tab(server) as tab:
        tab.open()
        paths = {*tab.pages, "runs"}
    assert paths <= {"", *index.PAGES}
    found: list[tuple[int, str]] = []
    missing: list[str] = []

    def answered(response: Response) -> None:
        found.append((response.status, response.url))
        if response.status >= 400:
            missing.append(f"{response.status} {response.url}")

    page.on("response", answered)
    for path in sorted(paths):
        page.goto(f"{server}/{path}?run={run.id}")
        settled(page)
    assert not missing
    asked = [url for _, url in found if "/_stcore/" in url]
    assert {url.removeprefix(server) for url in asked} >= {
        "/_stcore/health",
        "/_stcore/host-config",
    }


@pytest.mark.thorough
def test_the_chart_that_is_drawn_in_advance_leaves_nothing(page: Page, server: str) -> None:
    page.add_init_script(
        "new MutationObserver(() => { window.drawn ||= !!document.querySelector('.main-svg'); })"
        ".observe(document, { childList: true, subtree: true })"
    )
    page.goto(server)  # no run, so no chart
    page.wait_for_function("window.drawn && !document.querySelector('.js-plotly-plot')")
