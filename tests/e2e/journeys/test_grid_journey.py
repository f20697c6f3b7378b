"""A grid of five runs by mouse, on a real `ganboard up`: launched, watched, compared, exported,
archived."""

from __future__ import annotations

import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from ganboard.db.runs import queries
from ganboard.worker.context import Context
from tests.e2e.table import tick
from tests.up import Up

RUNS = 5
PATIENCE = 180_000  # milliseconds for five short trainings, one after the other


@pytest.fixture
def server(up: Up) -> str:
    return up.url


@pytest.mark.slow
@pytest.mark.thorough
def test_launch_watch_compare_export_archive(
    page: Page,
    up: Up,
    context: Context,
    complaints: list[str],
    shot: Callable[[str], None],
    tmp_path: Path,
) -> None:
    # Launch: five batches.
    page.goto(f"{up.url}/launch")
    page.get_by_role("button", name="More presets").click()
    page.get_by_role("button", name="Use tiny").click()
    page.get_by_role("radio", name="Sweep").or_(
        page.get_by_role("button", name="Sweep")
    ).first.click()
    builder = page.locator(".st-key-grid_builder")
    builder.get_by_role("button", name="Remove Precision").click()
    values = builder.get_by_role("textbox", name="Batch size (images)", exact=True)
    values.fill("8, 16, 32, 64, 128")
    values.press("Enter")
    shot("grid_five")
    builder.get_by_role("button", name=f"Launch {RUNS} runs").click()

    # Watch: the line under the button counts until all have ended.
    expect(builder.get_by_text(f"0 of {RUNS} runs ended")).to_be_visible()
    expect(builder.get_by_text(f"{RUNS} of {RUNS} runs ended")).to_be_visible(timeout=PATIENCE)
    shot("grid_five_done")
    runs = queries.list_runs(context.engine)
    assert [run.status for run in runs] == ["finished"] * RUNS
    assert len({run.sweep for run in runs}) == 1

    # Compare.
    builder.get_by_role("link", name="Compare them").click()
    expect(page.get_by_role("heading", name="Compare runs")).to_be_visible()
    expect(page.locator(".live-plotly.js-plotly-plot").first).to_be_visible()
    shot("grid_five_compared")

    # Export one of them.
    page.get_by_role("link", name="Runs").first.click()
    expect(page.get_by_text(f"{RUNS} runs", exact=True)).to_be_visible()
    tick(page.get_by_test_id("stDataFrame"), 0)
    expect(page.get_by_text("1 run selected")).to_be_visible()
    page.locator(".st-key-run_actions").get_by_role("button", name="Open").click()
    page.get_by_role("button", name="Download", exact=True).click()
    with page.expect_download() as download:
        page.get_by_role("link", name="export.zip").click()
    kept = tmp_path / "run.zip"
    download.value.save_as(kept)
    assert {"run.json", "epochs.csv", "steps.csv"} <= {
        Path(name).name for name in zipfile.ZipFile(kept).namelist()
    }

    # Archive all of them.
    page.get_by_role("link", name="Runs").first.click()
    expect(page.get_by_text("1 run selected")).to_be_visible()
    for row in range(1, RUNS):
        tick(page.get_by_test_id("stDataFrame"), row)
        expect(page.get_by_text(f"{row + 1} runs selected")).to_be_visible()
    page.get_by_role("button", name="Archive", exact=True).click()
    expect(page.get_by_text(f"Archived {RUNS} runs.")).to_be_visible()
    assert queries.count_runs(context.engine) == 0
    assert queries.count_runs(context.engine, archived=True) == RUNS
    assert complaints == []
