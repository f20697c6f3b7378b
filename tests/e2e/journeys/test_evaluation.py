"""A run that was trained without evaluation, by mouse on a real `ganboard up`: Evaluate, and its
FID is on its page and in the list of runs."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from ganboard.db.runs import queries
from ganboard.worker.context import Context
from tests.e2e.table import tick
from tests.polling import wait_until
from tests.up import Up


@pytest.fixture
def server(up: Up) -> str:
    return up.url


@pytest.mark.slow
@pytest.mark.thorough
def test_a_run_without_evaluation_is_evaluated(
    page: Page, up: Up, context: Context, complaints: list[str], shot: Callable[[str], None]
) -> None:
    page.goto(f"{up.url}/launch?preset=tiny")
    expect(page.locator(".st-key-preset_tiny").get_by_text("In use")).to_be_visible()
    name = page.get_by_label("Name", exact=True)
    expect(name).to_be_visible(timeout=120_000)
    name.fill("without")
    page.get_by_role("button", name="Launch", exact=True).click()
    expect(page.get_by_role("heading", name="without")).to_be_visible()
    [run] = queries.list_runs(context.engine)

    def status() -> str:
        return queries.find_run(context.engine, run.id).status

    wait_until(lambda: status() == "finished", seconds=240, what="the end of the run")
    assert queries.qualities(context.engine, run.id) == []

    # Its tab says what is not evaluated, evaluates it, and shows the result without a reload.
    page.goto(f"{up.url}/run?run={run.id}&view=Quality")
    expect(page.get_by_text("are stored as checkpoints and not evaluated")).to_be_visible()
    page.evaluate("window.never_reloaded = true")
    shot("evaluation_offered")
    page.get_by_role("button", name="Evaluate", exact=True).click()
    expect(page.get_by_test_id("stProgress")).to_have_count(2)  # the other is the training's
    shot("evaluation_waiting")
    expect(page.get_by_text("Best FID (classifier)")).to_be_visible(timeout=180_000)
    expect(page.get_by_test_id("stProgress")).to_have_count(1, timeout=180_000)
    expect(page.get_by_role("button", name="Evaluate", exact=True)).to_have_count(0)
    assert page.evaluate("window.never_reloaded") is True
    shot("evaluation_done")
    evaluated = queries.qualities(context.engine, run.id)
    assert [one.epoch for one in evaluated] == [1, 2]
    best = min(one.measures["fid"] for one in evaluated)

    # The list of runs has its FID, finds it, and has nothing left to evaluate.
    page.goto(f"{up.url}/?q=fid%3C{best + 1:.0f}")
    table = page.get_by_test_id("stDataFrame").first
    # cells have text for screen readers alone, with all digits
    expect(table.locator("[role=gridcell]", has_text=str(best)[:6]).first).to_be_attached()
    tick(table, 0)
    expect(page.get_by_text("1 run selected")).to_be_visible()
    expect(page.get_by_role("button", name="Evaluate", exact=True)).to_be_disabled()
    shot("evaluation_listed")
    assert complaints == []
