"""The table of runs in the browser: it is drawn on a canvas, so its rows are found by their
place."""

from __future__ import annotations

from playwright.sync_api import Locator

HEADER, ROW = 34, 40  # pixels of the table's header and rows
NAME, STATUS = 150, 400  # pixels from the left: within the first letters of a name, and of a state


def tick(table: Locator, row: int) -> None:
    """Click the checkbox of a row, counted from 0."""
    click(table, row, 17)


def click(table: Locator, row: int, x: float) -> None:
    """Click a row, counted from 0, at so many pixels from the left."""
    table.click(position={"x": x, "y": HEADER + ROW * row + ROW / 2})
