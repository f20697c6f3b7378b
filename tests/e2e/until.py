"""Waiting for something in the page. It polls from outside, so that a stricter security policy of
the page would not forbid it."""

from __future__ import annotations

from playwright.sync_api import Page

from tests.polling import wait_until


def until(page: Page, expression: str, seconds: float = 30.0) -> None:
    """Return when the JavaScript expression, or the function, gives something true."""
    wait_until(lambda: page.evaluate(expression), seconds=seconds, what=expression)
