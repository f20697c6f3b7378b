"""The page of one run in a real browser: the image player, addresses that can be shared, nothing
that jumps, downloads."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Locator, Page, WebSocketRoute, expect
from streamlit.proto.BackMsg_pb2 import BackMsg

from ganboard.db.models import Run
from ganboard.db.runs import annotations as run_annotations
from ganboard.db.runs import queries, reports
from ganboard.worker.context import Context
from tests.e2e.until import until
from tests.factories import png
from tests.polling import wait_until

MakeRun = Callable[..., Run]
PLOT = ".live-plotly.js-plotly-plot"
PLACES = """() => {
    const parts = 'h1, [role=tab], [data-testid=stMetric], [data-testid=stProgress], .live-plotly,'
        + ' .stButton';
    const place = (rect) => [rect.x, rect.y, rect.width, rect.height].map(Math.round).join();
    // the button of the alerts shows a count, and so grows
    const own = (element) => !element.closest('.st-key-alerts');
    const found = [...document.querySelectorAll(parts)].filter(own);
    return found.map((element) => place(element.getBoundingClientRect()));
}"""


def add_grid(context: Context, run: Run, epoch: int) -> None:
    reports.add_grid(
        context.engine,
        run_id=run.id,
        attempt=run.attempt,
        epoch=epoch,
        rows=4,
        columns=4,
        png=png(epoch + 50),
    )


def choose(slider: Locator, key: str) -> None:
    slider.focus()
    slider.press(key)


@pytest.mark.thorough
def test_the_player_plays_without_the_server_and_its_address_can_be_shared(
    page: Page,
    server: str,
    context: Context,
    make_run: MakeRun,
    complaints: list[str],
    shot: Callable[[str], None],
) -> None:
    run = make_run("played", status="running", epochs=4, quality_every=1)
    add_grid(context, run, -1)
    page.goto(f"{server}/run?run={run.id}&view=Images")
    said, slider = page.locator("output").first, page.get_by_role("slider", name="Epoch")
    expect(said).to_have_text("After epoch 4 · 5 of 5", timeout=90_000)
    expect(page.get_by_alt_text("Generated images, after epoch 4")).to_be_visible()
    expect(page.get_by_alt_text("Real images of the data set")).to_be_visible()

    # A newer grid is shown by itself, until another epoch is chosen.
    add_grid(context, run, 5)
    expect(said).to_have_text("After epoch 5 · 6 of 6")
    choose(slider, "Home")
    expect(said).to_have_text("Before training · 1 of 6")
    expect(page.get_by_role("button", name="Previous")).to_be_disabled()
    page.get_by_role("button", name="Next").click()
    page.get_by_role("button", name="Next").click()
    assert "at=2" in page.url
    add_grid(context, run, 6)
    expect(said).to_have_text("After epoch 2 · 3 of 7")
    page.get_by_role("button", name="Best: epoch 4, FID (classifier) 12.00").click()
    expect(page.get_by_alt_text("Generated images, after epoch 4")).to_be_visible()
    shot("run_player")

    # It plays every epoch once from where it stands, and the address is then that of the last.
    page.evaluate("() => { window.heading = document.querySelector('h1'); window.seen = []; }")
    said.evaluate(
        "(output) => new MutationObserver(() =>"
        " window.seen.push(output.textContent)).observe(output, {childList: true})"
    )
    page.get_by_role("combobox", name="Speed").select_option("10")
    page.get_by_role("checkbox", name="Loop").uncheck()
    page.get_by_role("button", name="Play").click()
    expect(page.get_by_role("button", name="Play")).to_have_text("Play")
    wait_until(lambda: "at=6" in page.url, seconds=20, what="the end of the film")
    played = list(dict.fromkeys(page.evaluate("() => window.seen")))
    assert [words for words in played if "epoch 5" in words or "epoch 6" in words] == [
        "After epoch 5 · 6 of 7",
        "After epoch 6 · 7 of 7",
    ]
    page.get_by_role("button", name="epoch 2").or_(
        page.get_by_role("button", name="Epoch 2")
    ).first.click()
    expect(said).to_have_text("After epoch 2 · 3 of 7")
    # the page was never loaded anew
    assert page.evaluate("() => window.heading === document.querySelector('h1')")

    # The copied address shows the same in another browser, and Newest follows again.
    with page.context.browser.new_context() as other:  # type: ignore[union-attr]
        copy = other.new_page()
        copy.goto(page.url)
        expect(copy.locator("output").first).to_have_text("After epoch 2 · 3 of 7")
    page.get_by_role("button", name="Newest").click()
    assert "at=" not in page.url
    with page.expect_download() as download:
        page.get_by_role("link", name="Download PNG").click()
    assert download.value.suggested_filename == f"{run.id}-epoch-6.png"
    assert complaints == []


@pytest.mark.thorough
def test_nothing_moves_while_it_is_live(
    page: Page, server: str, context: Context, make_run: MakeRun, complaints: list[str]
) -> None:
    run = make_run("still", status="running", epochs=1, steps_per_epoch=400)
    own: dict[str, Any] = {"run_id": run.id, "attempt": run.attempt}
    traces = f"document.querySelectorAll('{PLOT}')[0]?._fullData"
    points = f"() => {traces}?.find((trace) => trace.uid === 'g').x.length"
    page.goto(f"{server}/run?run={run.id}&smooth=0.9&x=Epoch")
    expect(page.locator(PLOT)).to_have_count(2)
    until(page, f"({points})() === 400")
    wait_until(
        lambda: page.evaluate(PLACES) == page.evaluate(PLACES), seconds=20, what="a page at rest"
    )
    before = page.evaluate(PLACES)
    for tick in range(20):
        losses = np.full(20, 0.5 + tick, np.float32)
        reports.append_steps(
            context.engine,
            **own,
            epoch=2,
            first=20 * tick,
            g_losses=losses,
            d_losses=losses,
            images_per_second=500.0,
        )
        if tick == 2:
            reports.add_event(
                context.engine, **own, level="warning", text="The discriminator wins."
            )
        wanted = 400 + 20 * (tick + 1)
        until(page, f"({points})() === {wanted}")
        assert page.evaluate(PLACES) == before
    expect(page.get_by_text("The discriminator wins.").first).to_be_visible()
    assert complaints == []


@pytest.mark.thorough
def test_every_option_of_the_losses_stands_in_the_address(
    page: Page, server: str, make_run: MakeRun, complaints: list[str], shot: Callable[[str], None]
) -> None:
    run = make_run("options", epochs=4, steps_per_epoch=50)
    page.goto(f"{server}/run?run={run.id}")
    expect(page.locator(PLOT)).to_have_count(2)
    for label in ("Log y", "Ignore outliers", "Events"):
        page.get_by_test_id("stCheckbox").filter(has_text=label).get_by_text(label).first.click()
        expect(page.get_by_test_id("stApp")).to_have_attribute(
            "data-test-script-state", "notRunning"
        )
    page.get_by_role("radio", name="Training seconds").or_(
        page.get_by_role("button", name="Training seconds")
    ).first.click()
    wanted = {"log=true", "robust=true", "marks=false", "x=Training"}
    wait_until(
        lambda: all(part in page.url for part in wanted),
        seconds=20,
        what="all options in the address",
    )
    layout = f"""() => {{
        const plot = document.querySelector('{PLOT}');
        const layout = plot?._fullLayout;  // none while it is being redrawn
        if (!layout) return '';
        const y = layout.yaxis;
        const found = [layout.xaxis.title.text, y.type, y.range, plot._fullData.length];
        return JSON.stringify(found);
    }}"""
    until(page, f"({layout})().includes('Training time (s)')")
    shown = page.evaluate(layout)
    assert json.loads(shown)[3] == 4  # both curves and their names, no events
    with page.context.browser.new_context() as other:  # type: ignore[union-attr]
        copy = other.new_page()
        copy.goto(page.url)
        expect(copy.locator(PLOT)).to_have_count(2)
        until(copy, f"({layout})().includes('Training time (s)')")
        assert copy.evaluate(layout) == shown
    shot("run_options")
    assert complaints == []


def test_a_run_can_be_taken_along_and_latest_goes_on(
    page: Page, server: str, make_run: MakeRun, complaints: list[str]
) -> None:
    run = make_run("taken", epochs=2)
    page.goto(f"{server}/run?run=latest")
    expect(page.get_by_role("heading", name="taken")).to_be_visible()
    page.get_by_role("button", name="Download", exact=True).click()
    with page.expect_download() as download, page.expect_popup():
        page.get_by_role("link", name="export.zip").click()
    with zipfile.ZipFile(download.value.path()) as files:
        assert f"{run.id}/run.json" in files.namelist()
    page.keyboard.press("Escape")
    make_run("newer", status="running", epochs=1)
    expect(page.get_by_role("heading", name="newer")).to_be_visible()
    assert "run=latest" in page.url
    assert complaints == []


def test_a_note_survives_somebody_elses(
    page: Page, server: str, context: Context, make_run: MakeRun, complaints: list[str]
) -> None:
    run = make_run("noted", status="running", epochs=1)
    page.goto(f"{server}/run?run={run.id}&view=Notes")
    field = page.get_by_label("Note", exact=True)
    field.fill("mine")
    field.press("Control+Enter")
    # the page stands still: only its tick can change it
    expect(page.get_by_role("button", name="Save", exact=True)).to_be_enabled()
    run_annotations.write_note(context.engine, run_id=run.id, text="theirs", version=0)
    expect(page.get_by_text("This note was changed")).to_be_visible()
    expect(page.get_by_test_id("stText").get_by_text("theirs", exact=True)).to_be_visible()
    expect(field).to_have_value("mine")
    page.get_by_role("button", name="Overwrite with mine").click()
    expect(page.get_by_text("This note was changed")).to_be_hidden()
    stored = queries.get_run(context.engine, run.id)
    assert stored is not None
    assert (stored.note, stored.note_version) == ("mine", 2)
    assert complaints == []


class Slow:
    """A connection of the browser; when `slow`, requests wait until a tick follows, which then
    comes with every part of the answer."""

    def __init__(self) -> None:
        self.slow, self.ticks, self.asked, self.late = False, 0, list[bytes](), list[bytes]()

    def __call__(self, browser: WebSocketRoute) -> None:
        server = browser.connect_to_server()

        def send(messages: list[bytes]) -> None:
            while messages:
                server.send(messages.pop(0))

        def ask(message: str | bytes) -> None:
            assert isinstance(message, bytes)
            tick = BackMsg.FromString(message).rerun_script.is_auto_rerun
            self.ticks += tick
            (self.late if tick and self.slow else self.asked).append(message)
            if tick or not self.slow:
                self.slow = False
                send(self.asked)

        def answer(message: str | bytes) -> None:
            browser.send(message)
            if not self.slow:
                send([*self.late])

        browser.on_message(ask)
        server.on_message(answer)


@pytest.mark.thorough
def test_a_tick_that_leaves_too_late_does_not_empty_the_next_page(
    page: Page, server: str, make_run: MakeRun, complaints: list[str]
) -> None:
    run, connection = make_run("left", status="running", epochs=1), Slow()
    page.route_web_socket("**/_stcore/stream", connection)
    page.goto(f"{server}/run?run={run.id}&view=Config")
    clone = page.get_by_role("button", name="Clone")
    expect(clone).to_be_visible()
    expect(page.get_by_text("Hardware")).to_be_visible()
    connection.slow = True
    clone.click()
    expect(page.get_by_role("heading", name="Launch", exact=True)).to_be_visible()
    connection.late.clear()
    before = connection.ticks  # those of the page that is open break on an empty one
    wait_until(
        lambda: page.evaluate("1") and connection.ticks > before + 2, seconds=60, what="ticks"
    )
    expect(page.get_by_role("heading", name="Launch", exact=True)).to_be_visible()
    assert complaints == []


@pytest.mark.thorough
def test_deleting_a_run_leads_to_the_list(
    page: Page, server: str, context: Context, make_run: MakeRun, complaints: list[str]
) -> None:
    run, _ = make_run("goes"), make_run("stays")
    page.goto(f"{server}/run?run={run.id}")
    page.get_by_role("button", name="Delete", exact=True).click()
    expect(page.get_by_text("Moved 1 run to the trash.")).to_be_visible()
    expect(page.get_by_role("heading", name="No such run")).to_have_count(0)
    expect(page.get_by_test_id("stDataFrame").first).to_be_visible()
    assert [stored.name for stored in queries.list_runs(context.engine)] == ["stays"]
    assert complaints == []
