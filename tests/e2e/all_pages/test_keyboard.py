"""Shortcuts and the command palette, on pages as the browser has them."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import Locator, Page, WebSocketRoute, expect
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

from ganboard.db.models import Run
from tests.e2e.sights import settled
from tests.polling import wait_until

MakeRun = Callable[..., Run]
PATIENCE = 20_000  # milliseconds


def listed(page: Page) -> Locator:
    """The list of shortcuts, open; the page may be there before its shortcuts."""
    shortcuts = page.get_by_role("dialog", name="Keyboard shortcuts")

    def is_open() -> bool:
        if not shortcuts.is_visible():
            page.keyboard.press("?")
        return shortcuts.is_visible()

    wait_until(is_open, seconds=20, what="the list of shortcuts")
    return shortcuts


@pytest.mark.browser
def test_pages_runs_and_search_are_a_few_keys_away(
    make_run: MakeRun, server: str, page: Page, complaints: list[str]
) -> None:
    wanted = make_run("the one that I want")
    make_run("another")
    page.goto(server)
    expect(page.get_by_text("2 runs", exact=True)).to_be_visible(timeout=PATIENCE)
    settled(page)  # the field that is searched in would be drawn again

    shortcuts = listed(page)
    expect(shortcuts).to_contain_text("Go to Launch")
    page.keyboard.press("Escape")
    expect(shortcuts).to_be_hidden()

    page.keyboard.press("/")
    # what is typed into a field is no shortcut
    page.keyboard.type("g?l")
    expect(page.get_by_placeholder("Search")).to_have_value("g?l")
    page.get_by_placeholder("Search").blur()

    page.keyboard.press("Control+k")
    palette = page.get_by_role("dialog", name="Commands")
    page.keyboard.type("no such thing")
    expect(palette.get_by_text("No matching command.")).to_be_visible()
    page.keyboard.press("Control+a")
    page.keyboard.type("want ONE")
    expect(palette.get_by_role("option")).to_have_count(1)
    page.keyboard.press("Enter")
    page.wait_for_url(f"**/run?run={wanted.id}", timeout=PATIENCE)
    expect(page.get_by_role("heading", name=wanted.name)).to_be_visible(timeout=PATIENCE)

    page.keyboard.press("g")
    page.keyboard.press("y")
    page.wait_for_url("**/system", timeout=PATIENCE)
    expect(page.get_by_role("heading", name="System")).to_be_visible(timeout=PATIENCE)
    assert not complaints


@pytest.mark.browser
def test_the_list_of_runs_is_used_without_a_mouse(
    make_run: MakeRun, server: str, page: Page, complaints: list[str]
) -> None:
    oldest, middle, newest = (make_run(name) for name in ("oldest", "middle", "newest"))
    page.goto(server)
    expect(page.get_by_text("3 runs", exact=True)).to_be_visible(timeout=PATIENCE)
    shortcuts = listed(page)
    page.keyboard.press("Escape")
    expect(shortcuts).to_be_hidden()
    for key, run in (("j", newest), ("j", middle), ("j", oldest), ("k", middle)):
        page.keyboard.press(key)
        page.wait_for_url(f"**preview={run.id}*", timeout=PATIENCE)
        expect(page.locator(".st-key-latest")).to_contain_text(run.name, timeout=PATIENCE)
    page.keyboard.press("x")
    expect(page.get_by_text("1 run selected")).to_be_visible(timeout=PATIENCE)
    page.keyboard.press("j")
    page.wait_for_url(f"**preview={oldest.id}*", timeout=PATIENCE)
    page.keyboard.press("x")
    expect(page.get_by_text("2 runs selected")).to_be_visible(timeout=PATIENCE)
    page.keyboard.press("c")
    page.wait_for_url(f"**/compare?runs={middle.id}%2C{oldest.id}**", timeout=PATIENCE)
    page.goto(f"{server}/?preview={oldest.id}")
    expect(page.locator(".st-key-latest")).to_contain_text(oldest.name, timeout=PATIENCE)
    listed(page)
    page.keyboard.press("Escape")
    expect(shortcuts).to_be_hidden()
    page.keyboard.press("Enter")
    page.wait_for_url(f"**/run?run={oldest.id}*", timeout=PATIENCE)
    assert not complaints


class Connection:
    """What a page and its server say to each other; its timers' last messages can be said again."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.timers: set[str] = set()  # fragments
        self.ticks: dict[str, bytes] = {}  # by fragment
        self.held: dict[str, bytes] | None = None  # ticks that go no further
        self.ended = 0  # runs of scripts and fragments
        page.route_web_socket("**/_stcore/stream", self._connect)

    def _connect(self, browser: WebSocketRoute) -> None:
        self.browser, self.server = browser, browser.connect_to_server()
        self.browser.on_message(self._from_browser)
        self.server.on_message(self._from_server)

    def _from_browser(self, message: str | bytes) -> None:
        assert isinstance(message, bytes)
        script = BackMsg.FromString(message).rerun_script
        if script.is_auto_rerun:
            if self.held is not None:
                self.held[script.fragment_id] = message
                return
            self.ticks[script.fragment_id] = message
        self.server.send(message)

    def _from_server(self, message: str | bytes) -> None:
        assert isinstance(message, bytes)
        said = ForwardMsg.FromString(message)
        kind = said.WhichOneof("type")
        self.ended += kind == "script_finished"
        if kind == "auto_rerun":
            self.timers.add(said.auto_rerun.fragment_id)
        elif kind == "stop_auto_rerun":
            self.timers -= set(said.stop_auto_rerun.fragment_ids)
        self.browser.send(message)

    def wait_for_ticks(self) -> None:
        """Until every timer of the page has sent another one."""
        self.ticks.clear()
        self._wait(lambda: self.timers == set(self.ticks))

    def repeat_ticks(self) -> None:
        for tick in list(self.ticks.values()):
            self._send(tick)

    def send_held_ticks(self) -> None:
        """As if the messages that the browser keeps had been listed when the last ones went out."""
        self.held = {}
        self._wait(lambda: self.timers == set(self.held or ()))
        for fragment, tick in list(self.held.items()):
            message, before = BackMsg.FromString(tick), BackMsg.FromString(self.ticks[fragment])
            del message.rerun_script.cached_message_hashes[:]
            known = before.rerun_script.cached_message_hashes
            message.rerun_script.cached_message_hashes.extend(known)
            self._send(message.SerializeToString())

    def _send(self, tick: bytes) -> None:
        before = self.ended
        self.server.send(tick)
        self._wait(lambda: self.ended > before)

    def _wait(self, condition: Callable[[], object]) -> None:
        # messages are heard while the page is asked something
        wait_until(lambda: self.page.evaluate("true") and condition(), seconds=20)


@pytest.mark.browser
def test_a_message_that_crosses_a_selection_does_not_undo_it(
    make_run: MakeRun, server: str, page: Page, complaints: list[str]
) -> None:
    """Every message carries the state of the table; a timer may send one before the browser has
    heard of the newest selection."""
    # while a run trains, timers are quicker
    older, newer = (make_run(name, status="running") for name in ("older", "newer"))
    connection = Connection(page)
    page.goto(server)
    expect(page.get_by_text("2 runs", exact=True)).to_be_visible(timeout=PATIENCE)
    listed(page)
    page.keyboard.press("Escape")
    page.keyboard.press("j")
    expect(page.locator(".st-key-latest")).to_contain_text(newer.name, timeout=PATIENCE)
    connection.wait_for_ticks()
    page.keyboard.press("x")
    expect(page.get_by_text("1 run selected")).to_be_visible(timeout=PATIENCE)
    connection.repeat_ticks()
    page.keyboard.press("j")
    expect(page.locator(".st-key-latest")).to_contain_text(older.name, timeout=PATIENCE)
    page.keyboard.press("x")
    expect(page.get_by_text("2 runs selected")).to_be_visible(timeout=PATIENCE)
    connection.wait_for_ticks()
    page.keyboard.press("k")
    expect(page.locator(".st-key-latest")).to_contain_text(newer.name, timeout=PATIENCE)
    connection.repeat_ticks()
    page.keyboard.press("x")
    expect(page.get_by_text("1 run selected")).to_be_visible(timeout=PATIENCE)
    assert f"preview={newer.id}" in page.url
    assert not complaints


@pytest.mark.browser
def test_a_message_that_crosses_many_others_finds_what_it_counts_on(
    make_run: MakeRun, server: str, page: Page, complaints: list[str]
) -> None:
    """A request lists the large messages that the browser keeps. The server does not send these
    again, so the browser must still have them when the answer arrives."""
    # none trains: a table with a duration that grows is never sent twice
    runs = [make_run(f"run {number}") for number in range(60)]
    connection = Connection(page)
    page.goto(server)
    expect(page.get_by_text("60 runs", exact=True)).to_be_visible(timeout=PATIENCE)
    listed(page)
    page.keyboard.press("Escape")
    for run in runs[:-7:-1]:
        page.keyboard.press("j")
        expect(page.locator(".st-key-latest")).to_contain_text(run.name, timeout=PATIENCE)
        settled(page)
        if run is runs[-1]:
            connection.wait_for_ticks()
            connection.wait_for_ticks()  # these know what the first ones were answered
            connection.held = {}
    connection.send_held_ticks()
    expect(page.get_by_text("60 runs", exact=True)).to_be_visible(timeout=PATIENCE)
    expect(page.get_by_text("Connection error")).to_have_count(0)
    assert not complaints
