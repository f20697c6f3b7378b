"""A claim in a real browser: its page, and its file, which opens without a network."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from playwright.sync_api import Page, expect

from ganboard.db.claims import records
from ganboard.worker.context import Context
from tests.unit.worker.claims.pairs import play, stated
from tests.unit.worker.claims.test_driver import faster, same

PATIENCE = 60_000


def test_a_claim_and_its_file(
    context: Context,
    server: str,
    page: Page,
    complaints: list[str],
    shot: Callable[[str], None],
    tmp_path: Path,
) -> None:
    ended = play(context, stated(context), faster(1.6), same)
    page.goto(f"{server}/claims?claim={ended.id}")
    expect(page.get_by_text("Supported after")).to_be_visible(timeout=PATIENCE)
    expect(page.locator(".live-plotly .main-svg").first).to_be_visible(timeout=PATIENCE)
    shot("claims")
    with page.expect_download(timeout=PATIENCE) as waiting:
        page.get_by_role("button", name="Download HTML").click()
    file = tmp_path / "claim.html"
    waiting.value.save_as(file)
    assert complaints == []
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(file.as_uri())
    expect(page.locator(".main-svg").first).to_be_visible(timeout=PATIENCE)
    expect(page.get_by_text("Supported after")).to_be_visible()
    page.get_by_text("Caveats").click()
    assert [url for url in asked if not url.startswith(("file:", "data:", "blob:"))] == []
    shot("claim-file")


def test_a_claim_is_stated_on_the_page(
    context: Context, server: str, page: Page, complaints: list[str]
) -> None:
    page.goto(f"{server}/claims")
    page.get_by_role("button", name="State a claim").click()
    dialog = page.get_by_role("dialog")
    pairs = dialog.get_by_label("Pairs of runs, at most")
    pairs.fill("2", timeout=PATIENCE)
    pairs.press("Enter")
    expect(dialog.get_by_text("is outside 3 to 100")).to_be_visible(timeout=PATIENCE)
    pairs.fill("5")
    pairs.press("Enter")
    expect(dialog.get_by_text("At most 10 runs")).to_be_visible(timeout=PATIENCE)
    dialog.get_by_role("button", name="Start").click()
    expect(page.get_by_text("Open: 0 pairs of at most 5 counted")).to_be_visible(timeout=PATIENCE)
    (claim,) = records.listed(context.engine)
    assert claim.pairs == 5
    assert complaints == []
