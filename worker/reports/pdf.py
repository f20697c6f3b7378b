"""A report on paper: HTML printed by a Chromium of this machine, which opens no connection."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from ganboard.worker.reports.page import ReportFailed

BROWSERS = (
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
    "chrome",
    "microsoft-edge",
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
)
NONE = (
    "No Chromium or Chrome was found on PATH, which prints the PDF. Install one (Debian: apt-get"
    " install chromium), or open the HTML report and print it from the browser."
)
SECONDS = 120.0  # on a busy machine
_OPTIONS = (
    "--headless",
    "--disable-gpu",
    "--no-first-run",
    "--disable-extensions",
    "--disable-background-networking",
    "--disable-component-update",
    "--host-resolver-rules=MAP * ~NOTFOUND",
    "--window-size=703,1000",  # the width of an A4 page within its margins, in CSS pixels
    "--virtual-time-budget=10000",  # milliseconds for the figures to be drawn
    "--no-pdf-header-footer",
)


def browser() -> str | None:
    """The path of a Chromium, None without one."""
    return next((found for name in BROWSERS if (found := shutil.which(name))), None)


def write(html: str, path: Path) -> None:
    """Print `html` to `path`. Raises ReportFailed."""
    found = browser()
    if found is None:
        raise ReportFailed(NONE)
    with tempfile.TemporaryDirectory(prefix="ganboard-", ignore_cleanup_errors=True) as name:
        source, printed = Path(name, "report.html"), Path(name, "report.pdf")
        source.write_text(html, encoding="utf-8")
        # Chromium's sandbox does not start for root
        sandbox = ["--no-sandbox"] if os.geteuid() == 0 else []
        command = [
            found,
            *_OPTIONS,
            *sandbox,
            f"--user-data-dir={name}/profile",
            f"--print-to-pdf={printed}",
            source.as_uri(),
        ]
        try:
            subprocess.run(command, capture_output=True, timeout=SECONDS, check=True)
        except (OSError, subprocess.SubprocessError) as error:
            raise ReportFailed(f"{found} did not print the report ({_why(error)}).") from None
        if not printed.exists():
            raise ReportFailed(
                f"{found} printed nothing. Open the HTML report and print it from the browser."
            )
        try:
            shutil.copyfile(printed, path)
        except OSError as error:
            raise ReportFailed(
                f"{path} cannot be written ({error.strerror}). Choose another path."
            ) from None


def _why(error: Exception) -> str:
    if isinstance(error, subprocess.TimeoutExpired):
        return f"not within {SECONDS:.0f} s"
    if isinstance(error, subprocess.CalledProcessError):
        return f"exit code {error.returncode}"
    return str(getattr(error, "strerror", None) or error)
