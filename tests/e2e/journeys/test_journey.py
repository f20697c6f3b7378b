"""What a person does, by mouse, on a real `ganboard up`: launch, watch, zoom, stop, resume, clone,
compare."""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from playwright.sync_api import Error, Page, expect

from ganboard.db.runs import queries
from ganboard.worker.context import Context
from tests.e2e.table import tick
from tests.polling import wait_until
from tests.up import Up

PLOT = ".live-plotly.js-plotly-plot"
EPOCHS = 400  # more than the journey takes, so that only Stop ends it


@pytest.fixture
def server(up: Up) -> str:
    return up.url


def set_number(page: Page, label: str, value: int) -> None:
    field = page.get_by_label(label, exact=True)
    field.fill(str(value))
    field.press("Enter")


def choose(page: Page, label: str, option: str) -> None:
    box = page.get_by_role("combobox", name=re.compile(label))
    box.scroll_into_view_if_needed()  # a list that has opened closes when the page scrolls
    choices = page.get_by_role("option")

    def chosen() -> bool:  # an open list also closes when the page answers what was typed before
        if not choices.count():
            box.click()
        with suppress(Error):
            page.get_by_role("option", name=option, exact=True).click(timeout=2000)
        return box.input_value() == option

    wait_until(chosen, seconds=30, every=0.5, what=f"{label} being {option}")


def epoch_shown(page: Page) -> int:
    found = re.search(r"Epoch (\d+) of", page.get_by_test_id("stProgress").inner_text())
    return int(found.group(1)) if found else 0


@pytest.mark.slow
@pytest.mark.timeout(900)  # a processor without bfloat16 instructions takes ten times as long
def test_launch_watch_stop_resume_clone_compare(
    page: Page,
    up: Up,
    context: Context,
    complaints: list[str],
    shot: Callable[[str], None],
    tmp_path: Path,
) -> None:
    # Launch with batch size 128, bfloat16 and XLA.
    page.goto(up.url)
    page.get_by_role("button", name="Launch a run").click()
    page.get_by_role("button", name="More presets").click()
    page.get_by_role("button", name="Use tiny").click()
    # while a preset's form is drawn, that of the one before is still there
    limit = 'input[aria-label="Limit (images)"]'
    expect(page.locator(f"{limit}[value='128']")).to_have_count(1, timeout=30_000)
    expect(page.locator(limit)).to_have_count(1, timeout=30_000)
    set_number(page, "Limit (images)", 256)
    set_number(page, "Batch size (images)", 128)
    set_number(page, "Epochs", EPOCHS)
    choose(page, "Precision", "mixed_bfloat16")
    page.get_by_text("XLA", exact=True).click()
    page.get_by_label("Name", exact=True).fill("the first")
    shot("launch")
    page.get_by_role("button", name="Launch", exact=True).click()

    # Epochs arrive without a reload, and the zoom stays.
    expect(page.get_by_role("heading", name="the first")).to_be_visible(timeout=30_000)
    page.evaluate("window.never_reloaded = true")
    [run] = queries.list_runs(context.engine)
    assert (run.config["batch_size"], run.config["precision"], run.config["xla"]) == (
        128,
        "mixed_bfloat16",
        True,
    )
    wait_until(lambda: epoch_shown(page) >= 2, seconds=240, every=0.3, what="epoch 2 on the page")
    expect(page.locator(PLOT).first).to_be_visible()
    drag = page.locator(f"{PLOT} .nsewdrag").first.bounding_box()
    assert drag is not None
    page.mouse.move(drag["x"] + drag["width"] * 0.3, drag["y"] + 20)
    page.mouse.down()
    page.mouse.move(drag["x"] + drag["width"] * 0.6, drag["y"] + 24, steps=5)
    page.mouse.up()
    ranged = f"() => JSON.stringify(document.querySelector('{PLOT}')._fullLayout.xaxis.range)"
    zoomed, seen = page.evaluate(ranged), epoch_shown(page)
    wait_until(
        lambda: epoch_shown(page) >= seen + 2, seconds=240, every=0.3, what="two more epochs"
    )
    assert page.evaluate(ranged) == zoomed
    assert page.evaluate("window.never_reloaded")
    shot("run_live")

    # Stop, resume, stop.
    page.get_by_role("button", name="Stop").click()
    expect(page.get_by_role("button", name="Resume")).to_be_visible(timeout=90_000)
    stopped = queries.get_run(context.engine, run.id)
    assert stopped is not None
    assert stopped.status == "stopped"
    page.get_by_role("button", name="Resume").click()
    wait_until(
        lambda: (now := queries.get_run(context.engine, run.id)) and now.step > stopped.step,
        seconds=180,
        what="steps after the resume",
    )
    page.get_by_role("button", name="Stop").click()
    expect(page.get_by_role("button", name="Resume")).to_be_visible(timeout=90_000)

    # Clone it with another batch size, to the end.
    page.get_by_role("button", name="Clone").click()
    expect(page.get_by_text("Starts from the settings of")).to_be_visible()
    set_number(page, "Batch size (images)", 64)
    set_number(page, "Epochs", 2)
    page.get_by_text("XLA", exact=True).click()
    page.get_by_label("Name", exact=True).fill("the second")
    page.get_by_role("button", name="Launch", exact=True).click()
    expect(page.get_by_role("heading", name="the second")).to_be_visible(timeout=30_000)
    expect(page.get_by_text("All epochs are finished.")).to_be_visible(timeout=180_000)
    page.get_by_role("tab", name="Images").click()
    expect(page.get_by_role("img").first).to_be_visible()
    shot("run_images")

    # Select both in the table, and compare.
    page.get_by_role("link", name="Runs").first.click()
    expect(page.get_by_text("2 runs", exact=True)).to_be_visible(timeout=20_000)
    for row, words in enumerate(("1 run selected", "2 runs selected")):
        tick(page.get_by_test_id("stDataFrame"), row)
        expect(page.get_by_text(words)).to_be_visible(timeout=20_000)
    shot("runs")
    page.get_by_role("button", name="Compare").click()
    expect(page.get_by_role("heading", name="Compare runs")).to_be_visible()
    expect(page.locator(PLOT)).to_have_count(2)
    shot("compare_losses")
    page.get_by_role("tab", name="Images").click()
    expect(page.get_by_test_id("stImage")).to_have_count(3)  # with real ones
    shot("compare_images")
    page.get_by_role("tab", name="Settings").click()
    shot("compare_settings")
    clone = queries.find_run(context.engine, "latest")
    assert (clone.parent_id, clone.config["batch_size"], clone.status) == (run.id, 64, "finished")

    # The copied address shows the same in a fresh browser.
    other = page.context.browser.new_context()  # type: ignore[union-attr]
    copy = other.new_page()
    copy.goto(page.url)
    expect(copy.get_by_role("tab", name="Settings", selected=True)).to_be_visible(timeout=20_000)
    other.close()
    page.goto(f"{up.url}/system")
    expect(page.get_by_text("All systems operational")).to_be_visible()
    shot("system")
    assert complaints == []
