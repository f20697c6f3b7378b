"""How far a backup or a restore is: bytes done, speed and time left, on a terminal as a bar,
elsewhere as a few lines."""

from __future__ import annotations

import sys
import time
from typing import Self

from rich.console import Console
from rich.progress import (
    BarColumn,
    DownloadColumn,
    Progress,
    TextColumn,
    TimeRemainingColumn,
    TransferSpeedColumn,
)

LINE_SECONDS = 10.0


class View:
    """Shows nothing: for `--json`."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None: ...

    def begin(self, title: str, total: int) -> None:
        """`total` is in bytes, and an estimate."""

    def advance(self, size: int) -> None: ...


class Lines(View):
    """A line now and then, on stderr: for files and pipes."""

    def begin(self, title: str, total: int) -> None:
        self._title, self._total, self._done = title, total, 0
        self._began = time.monotonic()
        self._next = self._began + LINE_SECONDS

    def advance(self, size: int) -> None:
        self._done += size
        if time.monotonic() >= self._next:
            self._next += LINE_SECONDS
            passed = time.monotonic() - self._began
            left = passed * max(0, self._total - self._done) / max(1, self._done)
            print(  # noqa: T201
                f"{self._title}: {self._done / 1e6:,.0f} of about {self._total / 1e6:,.0f} MB,"
                f" {left:,.0f} s left",
                file=sys.stderr,
                flush=True,
            )


class Bar(View):
    """A bar on the terminal, gone at the end."""

    def __enter__(self) -> Self:
        columns = (
            TextColumn("{task.description}"),
            BarColumn(),
            DownloadColumn(),
            TransferSpeedColumn(),
            TimeRemainingColumn(),
        )
        self._progress = Progress(*columns, console=Console(stderr=True), transient=True)
        self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.stop()

    def begin(self, title: str, total: int) -> None:
        self._task = self._progress.add_task(title, total=total)

    def advance(self, size: int) -> None:
        self._progress.advance(self._task, size)


def make_view(*, quiet: bool) -> View:
    return View() if quiet else Bar() if sys.stderr.isatty() else Lines()
