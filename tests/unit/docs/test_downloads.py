"""docs.generator.downloads: every address that other programs read."""

from __future__ import annotations

from docs.generator import downloads
from ganboard.app.web.api import ROUTES, nothing


def test_every_route_has_a_row_with_what_it_answers() -> None:
    page = downloads.page()
    for route in ROUTES:
        row = f"| `GET {route.path}` | "
        assert (row in page) == (route.endpoint is not nothing)
    assert (
        "| `GET /api/runs/{run}/export.zip` | What `ganboard export` writes, as a ZIP file. |"
        in (page)
    )
    assert "`losses.csv`" in page
