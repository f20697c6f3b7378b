"""Many tabs of a real browser on one server, all live at once."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from playwright.sync_api import Page, sync_playwright

from tests import chromium

SWITCHES = (
    "--no-sandbox --disable-dev-shm-usage --use-gl=angle --use-angle=swiftshader"
    " --enable-unsafe-swiftshader --disable-quic"
)
# of app.errors.show, and of Streamlit
FAILED = ("This page failed", "is unavailable", "Connection error")
TITLE = "[data-testid=stHeading] h1"
WATCHED_SECONDS = 30.0
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


def _listen(page: Page, shown: Shown) -> None:
    def count(_: object) -> None:
        shown.updates += 1

    page.on("websocket", lambda socket: socket.on("framereceived", count))
    page.on("pageerror", lambda error: shown.errors.append(f"uncaught: {error}"))
    page.on(
        "console",
        lambda message: shown.errors.append(message.text) if message.type == "error" else None,
    )
