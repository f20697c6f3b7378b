"""Alerts in a real browser: a channel that is added and tested, and the browser's own
notifications."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from ganboard.db.alerts import channels
from ganboard.db.models import Run
from ganboard.db.runs import commands
from ganboard.worker.context import Context
from tests.e2e.until import until
from tests.receivers import WebReceiver, web_receiver

MakeRun = Callable[..., Run]
PATIENCE = 60_000
# in place of the browser's own, which headless browsers do not show
RECORDER = """
window.shown = [];
window.Notification = class {
  static permission = sessionStorage.getItem("permission") ?? "PERMISSION";
  static async requestPermission() {
    sessionStorage.setItem("permission", "ANSWER");
    return (this.permission = "ANSWER");
  }
  constructor(title, options) { window.shown.push([title, options.body, options.tag]); }
};
"""


@pytest.fixture
def receiver() -> Iterator[WebReceiver]:
    with web_receiver() as found:
        yield found


def test_a_channel_is_added_and_gets_a_test_message(
    context: Context,
    server: str,
    page: Page,
    complaints: list[str],
    receiver: WebReceiver,
    shot: Callable[[str], None],
) -> None:
    page.goto(f"{server}/system")
    page.get_by_role("button", name="Add channel").click()
    dialog = page.get_by_role("dialog")
    address = dialog.get_by_label("Address of the webhook", exact=True)
    expect(address).to_be_visible(timeout=PATIENCE)
    shot("alerts-channel")
    dialog.get_by_label("Name", exact=True).fill("lab")
    address.fill("ftp://nowhere.example/verysecretword")
    dialog.get_by_role("button", name="Save").click()
    expect(dialog.get_by_text("The address is not one such as")).to_be_visible(timeout=PATIENCE)
    address.fill(receiver.url)
    dialog.get_by_role("button", name="Save").click()
    expect(dialog).to_be_hidden(timeout=PATIENCE)
    row = page.get_by_text("…word")
    expect(row).to_contain_text("127.0.0.1", timeout=PATIENCE)
    page.get_by_role("button", name="Test", exact=True).click()
    expect(page.get_by_test_id("stToast")).to_contain_text(
        "Sent a test message to lab.", timeout=PATIENCE
    )
    assert receiver.got[0]["text"] == "Test message"
    assert len(channels.listed(context.engine)) == 1
    page.reload()
    expect(row).to_be_visible(timeout=PATIENCE)
    shot("alerts")
    assert "verysecret" not in page.content()
    assert complaints == []


def opened(
    new_context: Callable[..., BrowserContext], server: str, permission: str, answer: str
) -> Page:
    """The notices, in a browser with this permission that gives this answer when asked."""
    page = new_context().new_page()
    page.add_init_script(RECORDER.replace("PERMISSION", permission).replace("ANSWER", answer))
    page.goto(f"{server}/system")
    page.locator(".st-key-alerts").get_by_role("button").click()
    expect(page.get_by_role("dialog")).to_be_visible(timeout=PATIENCE)
    return page


def test_the_browser_tells_when_a_run_ends(
    context: Context, make_run: MakeRun, server: str, new_context: Callable[..., BrowserContext]
) -> None:
    make_run("before", status="failed")
    run = make_run("the one", status="running", epochs=2)
    page = opened(new_context, server, "default", "granted")
    switch = page.get_by_role("switch", name="Notify me in this browser")
    expect(switch).not_to_be_checked(timeout=PATIENCE)
    switch.click()
    expect(switch).to_be_checked(timeout=PATIENCE)
    expect(page.get_by_text("Shown while a page of ganboard is open.")).to_be_visible()
    other = make_run("another", status="running", epochs=2)
    commands.finish(context.engine, run_id=run.id, attempt=run.attempt, status="finished")
    until(page, "() => window.shown.length")
    assert [shown[:2] for shown in page.evaluate("window.shown")] == [["the one has finished", ""]]
    page.reload()  # what was shown is not shown again
    commands.finish(
        context.engine, run_id=other.id, attempt=other.attempt, status="failed", error="It broke."
    )
    until(page, "() => window.shown.length")
    assert [shown[:2] for shown in page.evaluate("window.shown")] == [
        ["another has failed", "It broke."]
    ]


def test_a_browser_that_refuses_says_so(
    context: Context, server: str, new_context: Callable[..., BrowserContext]
) -> None:
    page = opened(new_context, server, "default", "denied")
    switch = page.get_by_role("switch", name="Notify me in this browser")
    switch.click()
    expect(page.get_by_text("The browser blocks notifications")).to_be_visible(timeout=PATIENCE)
    expect(switch).not_to_be_checked()
