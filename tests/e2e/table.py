"""The table of runs in the browser: it is drawn on a canvas, so its rows are found by their
place."""

from __future__ import annotations

from playwright.sync_api import Locator

HEADER, ROW = 34, 36  # pixels of the table's header and rows


def tick(table: Locator, row: int) -> None:
    """Click the checkbox of a row, counted from 0."""
    table.click(position={"x": 17, "y": HEADER + ROW * row + ROW / 2})
