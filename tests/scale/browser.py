"""A real browser on the server: how long a click takes to its first chart, and many tabs live at
once."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from playwright.sync_api import Page, sync_playwright

from tests import chromium
from tests.polling import wait_until

SWITCHES = (
    "--no-sandbox --disable-dev-shm-usage --use-gl=angle --use-angle=swiftshader"
    " --enable-unsafe-swiftshader --disable-quic"
)
# of app.errors.show, and of Streamlit
FAILED = ("This page failed", "is unavailable", "Connection error")
TITLE = "[data-testid=stHeading] h1"
CHART = ".live-plotly .main-svg"
# The time of the next chart's first frame, taken in the page: while WebGL starts, as it does after
# that frame, the page answers nobody. Observers of mutations run before the frame that shows them.
MARK = """chart => {
  const old = new Set(document.querySelectorAll(chart));
  const watch = new MutationObserver(() => {
    if (![...document.querySelectorAll(chart)].some(one => !old.has(one))) return;
    watch.disconnect();
    requestAnimationFrame(() => { window.firstChart = Date.now(); });
  });
  watch.observe(document, {childList: true, subtree: true});
}"""
QUIET = "[data-testid=stApp][data-test-script-state=notRunning]"
WATCHED_SECONDS = 30.0
READING = 2000  # milliseconds that somebody looks at a page before the click
PATIENCE = 300_000  # milliseconds: twenty tabs that open at once share the cores


@dataclass
class Shown:
    """What many tabs saw: errors of the console, uncaught exceptions, sentences of failure."""

    tabs: int
    updates: int = 0  # messages from the server while all were watched
    errors: list[str] = field(default_factory=list)

    @property
    def words(self) -> str:
        first = f": {self.errors[0]}" if self.errors else ""
        return (
            f"{len(self.errors)} errors, {self.updates / WATCHED_SECONDS / self.tabs:.1f} updates"
            f" per second and tab{first}"
        )


def live_tabs(url: str, tabs: int, addresses: list[str], seconds: float = WATCHED_SECONDS) -> Shown:
    """Open `tabs` tabs at the `addresses` in turn, watch all of them for so long, and say what
    happened."""
    shown = Shown(tabs)
    with sync_playwright() as playwright:
        path = chromium.find()
        assert path, chromium.REMEDY
        browser = playwright.chromium.launch(executable_path=path, args=SWITCHES.split())
        context = browser.new_context(viewport={"width": 1280, "height": 720})
        pages = [context.new_page() for _ in range(tabs)]
        for index, page in enumerate(pages):
            _listen(page, shown)
            page.goto(
                f"{url}/{addresses[index % len(addresses)]}", wait_until="commit", timeout=PATIENCE
            )
        for page in pages:
            page.locator(TITLE).first.wait_for(timeout=PATIENCE)
        shown.updates = 0
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            pages[0].wait_for_timeout(500)  # the listeners are called meanwhile
        for page in pages:
            shown.errors += [
                f"{page.url}: {sentence}"
                for sentence in FAILED
                if page.get_by_text(sentence).count()
            ]
        browser.close()
    return shown


def first_charts(url: str, repeats: int) -> dict[str, list[float]]:
    """Seconds from a click, or a key, to the first chart that is drawn. Each time in a browser that
    has seen only the page on which is clicked, for READING."""
    found: dict[str, list[float]] = {name: [] for name in WAYS}
    with sync_playwright() as playwright:
        path = chromium.find()
        assert path, chromium.REMEDY
        browser = playwright.chromium.launch(executable_path=path, args=SWITCHES.split())
        for _ in range(repeats):
            for name, (address, prepare, act) in WAYS.items():
                page = browser.new_context(viewport={"width": 1440, "height": 900}).new_page()
                page.goto(f"{url}/{address}")
                _quiet(page)
                prepare(page)
                page.wait_for_timeout(READING)
                page.evaluate(MARK, CHART)
                began = time.time()
                act(page)
                shown = page.wait_for_function("window.firstChart", timeout=PATIENCE)
                found[name].append(shown.json_value() / 1000 - began)
                page.context.close()
        browser.close()
    return found


def _quiet(page: Page) -> None:
    """Until the page stands, and has loaded what the next one will need."""
    page.locator(TITLE).first.wait_for(timeout=PATIENCE)
    page.locator(QUIET).wait_for(timeout=PATIENCE)
    page.wait_for_load_state("networkidle")


def _choose(page: Page) -> None:
    """The next row of the list of runs, by keyboard."""
    before = page.url

    def chosen() -> bool:
        page.keyboard.press("j")  # the page may be there before its shortcuts
        page.wait_for_timeout(500)
        return page.url != before

    wait_until(chosen, seconds=PATIENCE / 1000, what="another row")
    _quiet(page)


def _select_two(page: Page) -> None:
    for selected in ("1 run", "2 runs"):
        _choose(page)
        page.keyboard.press("x")
        page.get_by_text(f"{selected} selected").wait_for(timeout=PATIENCE)
        _quiet(page)


def _nothing(page: Page) -> None:
    pass


def _frontier(page: Page) -> None:
    page.get_by_role("link", name="Quality per second").first.click()


FINISHED = "?q=status%3Afinished"
# where the click is made, what comes before it, and the click
WAYS: dict[str, tuple[str, Callable[[Page], None], Callable[[Page], None]]] = {
    "Run": (FINISHED, _choose, lambda page: page.keyboard.press("Enter")),
    "Compare": (FINISHED, _select_two, lambda page: page.keyboard.press("c")),
    "Quality per second": ("", _nothing, _frontier),
}


def _listen(page: Page, shown: Shown) -> None:
    def count(_: object) -> None:
        shown.updates += 1

    page.on("websocket", lambda socket: socket.on("framereceived", count))
    page.on("pageerror", lambda error: shown.errors.append(f"uncaught: {error}"))
    page.on(
        "console",
        lambda message: shown.errors.append(message.text) if message.type == "error" else None,
    )
