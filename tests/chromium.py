"""A Chromium for the browser tests: `find` one, or, as `python -m tests.chromium`, fetch it.

GANBOARD_REQUIRE_BROWSER=1 makes its absence an error; otherwise the browser tests are skipped and
say why.
"""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

REMEDY = (
    "No Chromium was found: install one (Debian: apt-get install chromium; elsewhere:"
    " .venv/bin/playwright install chromium)."
)


@cache
def find() -> str | None:
    """Path of a Chromium that starts: $CHROMIUM, one on PATH, or Playwright's own."""
    return next(filter(_starts, _candidates()), None)


def _candidates() -> Iterator[str]:
    for name in (
        os.environ.get("CHROMIUM"),
        "chromium",
        "chromium-browser",
        "google-chrome",
        "google-chrome-stable",
    ):
        if name and (path := shutil.which(name)):
            yield path
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        own = playwright.chromium.executable_path
    if Path(own).exists():
        yield own


def _starts(path: str) -> bool:
    # Ubuntu's package is a stub that only speaks of snap
    return subprocess.run([path, "--version"], capture_output=True, check=False).returncode == 0


def fetch() -> None:
    """Install one: Debian's package where we may, else Playwright's build into the user's cache."""
    if (
        os.geteuid() == 0
        and shutil.which("apt-get")
        and platform.freedesktop_os_release().get("ID") == "debian"
    ):
        subprocess.run(["apt-get", "update", "-qq"], check=False)
        quiet = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
        subprocess.run(
            ["apt-get", "install", "-y", "-qq", "--no-install-recommends", "chromium"],
            env=quiet,
            check=False,
        )
    else:
        subprocess.run([sys.executable, "-m", "playwright", "install", "chromium"], check=False)


def main() -> int:
    if not find():
        fetch()
        find.cache_clear()
    if path := find():
        print(f"Browser tests use {path}")
        return 0
    print(REMEDY, file=sys.stderr)
    return 1 if os.environ.get("GANBOARD_REQUIRE_BROWSER") else 0


if __name__ == "__main__":
    sys.exit(main())
