"""The security headers of every answer, and that no page of the dashboard needs what they
forbid."""

from __future__ import annotations

import urllib.request
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from ganboard.app.web.security_headers import HEADERS, POLICY, framing
from ganboard.db.models import Run
from ganboard.worker.context import Context
from tests.e2e.furniture import furnish
from tests.e2e.sights import walk


@pytest.mark.parametrize(
    "path",
    [
        "/",
        "/run",
        "/api/health",
        "/api/runs",
        "/api/nothing",
        "/vendor/plotly.min.js",
        "/_stcore/health",
    ],
)
def test_every_answer_has_them(server: str, path: str) -> None:
    try:
        with urllib.request.urlopen(server + path, timeout=10) as answer:
            found = answer.headers
    except urllib.error.HTTPError as error:
        found = error.headers
    expected = HEADERS | framing([])
    assert {name: found[name] for name in expected} == expected
    assert "frame-ancestors 'none'" in found["Content-Security-Policy"]
    # it is not encrypted, and this machine alone reaches it
    assert found["Strict-Transport-Security"] is None


@pytest.mark.thorough
def test_no_page_needs_what_the_policy_forbids(
    page: Page, server: str, complaints: list[str], context: Context, make_run: Callable[..., Run]
) -> None:
    assert not {"'unsafe-inline'", "data:", "*"} & set(POLICY["script-src"].split())
    runs = furnish(context, make_run)
    seen = []
    for name in walk(page, server, runs):
        seen.append(name)
        assert not complaints, (name, complaints)
        # what Plotly draws when its code is refused
        expect(page.get_by_text("WebGL is not supported")).to_have_count(0)
    assert len(seen) > 15
