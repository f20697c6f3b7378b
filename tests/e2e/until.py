"""Waiting for something in the page. Playwright's own wait evaluates text there, which the page's security policy refuses."""

from __future__ import annotations

from playwright.sync_api import Page

from tests.polling import wait_until


def until(page: Page, expression: str, seconds: float = 30.0) -> None:
    """Return when the JavaScript expression, or the function, gives something true."""
    wait_until(lambda: page.evaluate(expression), seconds=seconds, what=expression)
