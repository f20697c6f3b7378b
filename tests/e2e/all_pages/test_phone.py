"""Every page fits a phone, a laptop and a large screen, light and dark. With SCREENSHOTS=FOLDER
each is kept there as a picture."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Literal

import pytest
from playwright.sync_api import Page

from ganboard.db.models import Run
from ganboard.worker.context import Context
from tests.e2e.furniture import furnish
from tests.e2e.sights import VIEWPORTS, settled, walk

SECONDS = 5.0  # that a page may take to fit another size
# nothing may be wider than the screen but what scrolls in itself
TOO_WIDE = """() => {
  const wide = document.documentElement.clientWidth + 1;
  const clips = e => ['auto', 'scroll', 'hidden'].includes(getComputedStyle(e).overflowX);
  const scrolls = e => e && (clips(e) || scrolls(e.parentElement));
  const beyond = e => e.getBoundingClientRect().right > wide && e.checkVisibility();
  return [...document.querySelectorAll('[data-testid=stMainBlockContainer] *')]
    .filter(e => beyond(e) && !scrolls(e.parentElement))
    .slice(0, 3).map(e => e.outerHTML.slice(0, 200));
}"""


@pytest.mark.thorough
@pytest.mark.slow
def test_nothing_is_wider_than_the_screen(
    context: Context, make_run: Callable[..., Run], server: str, page: Page
) -> None:
    wide: dict[str, list[str]] = {}
    for name in walk(page, server, furnish(context, make_run)):
        for size, viewport in VIEWPORTS.items():
            page.set_viewport_size(viewport)  # type: ignore[arg-type]
            settled(page)
            if found := _too_wide(page):
                wide[f"{name}, {size}"] = found
            _keep(page, f"{name}_{size}")
    assert not wide


def _too_wide(page: Page) -> list[str]:
    """What stays too wide once the page is laid out anew."""
    deadline = time.monotonic() + SECONDS
    while (found := page.evaluate(TOO_WIDE)) and time.monotonic() < deadline:
        page.wait_for_timeout(100)
    return list(found)


def _keep(page: Page, name: str) -> None:
    schemes: tuple[Literal["light", "dark"], ...] = ("light", "dark")
    for scheme in schemes if "SCREENSHOTS" in os.environ else ():
        page.emulate_media(color_scheme=scheme)
        page.wait_for_timeout(700)  # charts are drawn anew
        page.screenshot(path=Path(os.environ["SCREENSHOTS"]) / f"{name}_{scheme}.png")
