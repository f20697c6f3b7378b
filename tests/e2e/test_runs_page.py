"""What only a browser shows of the pages Runs and Launch: clicks on a canvas, Markdown as it is drawn, values that outlive a page."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from playwright.sync_api import Page, expect

from app.text import WORD_JOINER
from db import queries, reports
from db.models import Run
from tests.e2e.table import tick
from tests.factories import HOSTILE_NAMES
from worker.context import Context

MakeRun = Callable[..., Run]
PATIENCE = 20_000  # milliseconds
LIVE_SYNTAX = "[role=tab] :is(img, code, strong, em, del, a, .katex, [data-testid=stIconMaterial])"


def finish_epoch(context: Context, run: Run, epoch: int) -> None:
    write = partial(reports.finish_epoch, context.engine, run_id=run.id, attempt=run.attempt, epoch=epoch)
    write(steps=4, images=128, g_loss=0.5, d_loss=1.0, seconds=2.0, compile_seconds=0.0, g_path=(0.0, 0.0), d_path=(0.0, 0.0))


def test_selection_survives_live_updates_and_new_rows(
    context: Context, make_run: MakeRun, server: str, page: Page, complaints: list[str]
) -> None:
    make_run("first")
    make_run("second")
    running = make_run("third", status="running", epochs=2)
    page.goto(server)
    table = page.get_by_test_id("stDataFrame")
    expect(page.get_by_text("3 runs", exact=True)).to_be_visible(timeout=PATIENCE)
    tick(table, 1)
    expect(page.get_by_text("1 run selected")).to_be_visible(timeout=PATIENCE)
    tick(table, 2)
    expect(page.get_by_text("2 runs selected")).to_be_visible(timeout=PATIENCE)

    finish_epoch(context, running, 3)
    expect(page.get_by_text("Epoch 3 of 12")).to_be_visible(timeout=PATIENCE)
    expect(page.get_by_text("2 runs selected")).to_be_visible(timeout=PATIENCE)

    make_run("fourth", status="queued")
    expect(page.get_by_text("4 runs", exact=True)).to_be_visible(timeout=PATIENCE)
    expect(page.get_by_text("2 runs selected")).to_be_visible(timeout=PATIENCE)

    page.get_by_role("button", name="Delete").click()
    expect(page.get_by_role("dialog").get_by_text("second")).to_be_visible(timeout=PATIENCE)
    page.get_by_role("button", name="Delete 2 runs").click()
    expect(page.get_by_text("Deleted 2 runs.")).to_be_visible(timeout=PATIENCE)
    assert [run.name for run in queries.list_runs(context.engine)] == ["fourth", "third"]
    assert complaints == []


def test_filters_stand_in_the_address(make_run: MakeRun, server: str, page: Page) -> None:
    make_run("alpha")
    make_run("beta", status="failed")
    page.goto(server)
    page.get_by_placeholder("Name or id").press_sequentially("alp")
    expect(page.get_by_text("1 run of 2")).to_be_visible(timeout=PATIENCE)
    assert "q=alp" in page.url
    page.reload()
    expect(page.get_by_text("1 run of 2")).to_be_visible(timeout=PATIENCE)


def test_settings_outlive_a_visit_to_another_page(make_run: MakeRun, server: str, page: Page, complaints: list[str]) -> None:
    make_run("any")
    page.goto(f"{server}/launch")
    batch = page.get_by_role("spinbutton", name="Batch size (images)")
    batch.fill("128")
    batch.press("Enter")
    expect(page.get_by_test_id("stMetric").filter(has_text="Batch per replica")).to_contain_text("128", timeout=PATIENCE)
    page.get_by_role("link", name="Runs").click()
    expect(page.get_by_role("heading", name="Runs")).to_be_visible(timeout=PATIENCE)
    page.get_by_role("link", name="Launch", exact=True).click()
    expect(batch).to_have_value("128", timeout=PATIENCE)
    assert complaints == []


def test_names_are_drawn_as_they_were_typed(make_run: MakeRun, server: str, page: Page, complaints: list[str]) -> None:
    for name in HOSTILE_NAMES:
        run = make_run(name)
        page.goto(f"{server}/launch?clone={run.id}")
        tab = page.get_by_role("tab").first
        expect(tab).to_contain_text("vs “", timeout=PATIENCE)
        assert tab.inner_text().replace(WORD_JOINER, "").startswith(f"vs “{name[:10].rstrip()}")
        assert page.locator(LIVE_SYNTAX).count() == 0
        page.goto(server)
        card = page.locator(".st-key-latest")
        expect(card.locator("strong")).to_be_visible(timeout=PATIENCE)
        assert name.startswith(card.locator("strong").inner_text().replace(WORD_JOINER, "").removesuffix("…"))
        assert card.get_by_role("link").count() == 0
    assert complaints == []
