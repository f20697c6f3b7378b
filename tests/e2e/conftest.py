"""A real Chromium and a real server over a state directory of the test's own."""

from __future__ import annotations

import os
import subprocess
import sys
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import BrowserContext, ConsoleMessage, Page, Request, expect

from ganboard.worker.context import Context
from tests import chromium
from tests.polling import wait_until
from tests.up import Up, free_port, ganboard_up

ROOT = Path(__file__).parents[2]

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
    # software WebGL for the 3-D charts; the rest keeps Chromium from asking its maker's servers
    # anything
    switches = """--no-sandbox --disable-dev-shm-usage --use-gl=angle --use-angle=swiftshader --enable-unsafe-swiftshader --disable-quic
        --no-first-run --disable-background-networking --disable-component-update --disable-sync --disable-default-apps"""
    return {
        **browser_type_launch_args,
        "executable_path": chromium.find(),
        "args": switches.split(),
    }


@pytest.fixture(scope="session")
def browser_context_args(browser_context_args: dict[str, Any]) -> dict[str, Any]:
    return {**browser_context_args, "viewport": {"width": 1280, "height": 720}}


@pytest.fixture
def page(new_context: Callable[[], BrowserContext]) -> Page:
    """A page of a browser context of its own; pytest-playwright's `page` wants the name `context`,
    which is ganboard's here."""
    return new_context().new_page()


@pytest.fixture
def server(context: Context, tmp_path: Path) -> Iterator[str]:
    """The address of a dashboard over `context`'s state directory."""
    with serving(free_port(), tmp_path) as url:
        yield url


@contextmanager
def serving(port: int, tmp_path: Path) -> Iterator[str]:
    """A dashboard on this port, with this process's environment; its log is web.log."""
    url = f"http://127.0.0.1:{port}"
    log = tmp_path / "web.log"
    with log.open("wb") as output:  # a pipe that nobody reads would block the server
        command = [
            sys.executable,
            "-m",
            "ganboard.app.web.serve",
            "--port",
            str(port),
            "--address",
            "127.0.0.1",
        ]
        process = subprocess.Popen(command, cwd=ROOT, stdout=output, stderr=subprocess.STDOUT)
    try:
        wait_until(
            lambda: process.poll() is not None or healthy(url),
            seconds=120,
            every=0.2,
            what="the web server",
        )
        assert process.poll() is None, f"the web server ended: {log.read_text()}"
        yield url
    finally:
        process.terminate()
        process.wait(20)


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


def healthy(url: str) -> bool:
    try:
        with urllib.request.urlopen(f"{url}/_stcore/health", timeout=2) as answer:
            return bool(answer.read() == b"ok")
    except OSError:
        return False
