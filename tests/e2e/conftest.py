"""A real Chromium and a real server over a state directory of the test's own."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import BrowserContext, ConsoleMessage, Page, Request, expect

from ganboard.worker.context import Context
from tests import chromium
from tests.e2e.dashboard import Dashboard, dashboard
from tests.up import Up, free_port, ganboard_up

# ms; a loaded machine takes its time to start a server's first session
expect.set_options(timeout=30_000)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    browser_tests = [item for item in items if Path(__file__).parent in item.path.parents]
    for item in browser_tests:
        item.add_marker(pytest.mark.browser)
        if "GANBOARD_REQUIRE_BROWSER" not in os.environ and not chromium.find():
            item.add_marker(pytest.mark.skip(reason=chromium.REMEDY))


@pytest.fixture(scope="session")
def browser_type_launch_args(browser_type_launch_args: dict[str, Any]) -> dict[str, Any]:
    # software WebGL for the 3-D charts, but no emulated GPU for anything else; the rest keeps
    # Chromium from asking its maker's servers anything
    switches = [
        "--no-sandbox",
        "--disable-dev-shm-usage",
        "--use-gl=angle",
        "--use-angle=swiftshader",
        "--enable-unsafe-swiftshader",
        "--disable-gpu-rasterization",
        "--disable-gpu-compositing",
        "--disable-quic",
        "--no-first-run",
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-sync",
        "--disable-default-apps",
    ]
    return {**browser_type_launch_args, "executable_path": chromium.find(), "args": switches}


@pytest.fixture(scope="session")
def browser_context_args(browser_context_args: dict[str, Any]) -> dict[str, Any]:
    return {**browser_context_args, "viewport": {"width": 1280, "height": 720}}


@pytest.fixture
def page(new_context: Callable[[], BrowserContext]) -> Page:
    """A page of a browser context of its own; pytest-playwright's `page` wants the name `context`,
    which is ganboard's here."""
    return new_context().new_page()


@pytest.fixture(scope="session")
def shared_dashboard(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Dashboard]:
    """One server for all tests of this process; its log is web.log."""
    folder = tmp_path_factory.mktemp("dashboard")
    home = {"GANBOARD_HOME": str(folder / "home")}
    with dashboard(folder / "web.log", home, free_port()) as started:
        yield started


@pytest.fixture
def server(context: Context, shared_dashboard: Dashboard) -> str:
    """The address of a dashboard over `context`'s state directory."""
    shared_dashboard.adopt_environment()
    return shared_dashboard.url


@pytest.fixture
def up(context: Context) -> Iterator[Up]:
    """A real `ganboard up` without a starter run; a test that uses it has `server` give its
    address."""
    with ganboard_up(context.settings.state, "--no-starter") as running:
        yield running


@pytest.fixture
def complaints(page: Page, server: str) -> list[str]:
    """Everything that must not happen in the browser: errors on its console, uncaught exceptions,
    requests to other hosts."""
    found: list[str] = []

    def console(message: ConsoleMessage) -> None:
        if message.type == "error":
            found.append(f"console: {message.text} ({message.location.get('url', '')})")

    def requested(request: Request) -> None:
        if not request.url.startswith((server, server.replace("http", "ws", 1), "data:", "blob:")):
            found.append(f"request: {request.url}")

    page.on("console", console)
    page.on("pageerror", lambda error: found.append(f"uncaught: {error}"))
    page.on("request", requested)
    return found


@pytest.fixture
def shot(page: Page) -> Callable[[str], None]:
    """Keep a picture of the page in the folder SCREENSHOTS, if that is set."""
    folder = os.environ.get("SCREENSHOTS")

    def take(name: str) -> None:
        if folder:
            page.screenshot(path=Path(folder) / f"{name}.png")

    return take
