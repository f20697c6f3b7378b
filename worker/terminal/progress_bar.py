"""How far an operation is, on stderr: a bar on a terminal, elsewhere a line now and then."""

from __future__ import annotations

import sys
import time
from typing import Literal, Self

from rich.console import Console
from rich.progress import (
    BarColumn,
    DownloadColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeRemainingColumn,
    TransferSpeedColumn,
)

LINE_SECONDS = 10.0

Unit = Literal["bytes", "events", "pictures", "steps"]


class ProgressBar:
    """Counts to a total that the first report names; `quiet` shows nothing, for `--json`."""

    def __init__(self, title: str, unit: Unit, *, quiet: bool = False) -> None:
        terminal = sys.stderr.isatty()
        amount = (
            (DownloadColumn(), TransferSpeedColumn())
            if unit == "bytes"
            else (MofNCompleteColumn(), TextColumn(unit))
        )
        self._bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            *amount,
            TimeRemainingColumn(),
            console=Console(stderr=True),
            transient=True,
            disable=quiet or not terminal,
        )
        self._task = self._bar.add_task(title, total=None)
        self._title = title
        self._unit = unit
        self._done = 0
        self._total = 0
        self._lines = not quiet and not terminal
        self._began = time.monotonic()
        self._next_line = self._began + LINE_SECONDS

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.stop()

    def update(self, done: int, total: int) -> None:
        """So much is done of a total, which may be an estimate."""
        self._done = done
        self._total = total
        self._bar.update(self._task, completed=done, total=total)
        now = time.monotonic()
        if self._lines and now >= self._next_line:
            self._next_line = now + LINE_SECONDS
            print(self._line(), file=sys.stderr, flush=True)  # noqa: T201

    def advance(self, amount: int) -> None:
        """So much more is done of the total that `update` was given."""
        self.update(self._done + amount, self._total)

    def _line(self) -> str:
        amount = f"{self._done:,} of {self._total:,} {self._unit}"
        if self._unit == "bytes":
            amount = f"{self._done / 1e6:,.0f} of about {self._total / 1e6:,.0f} MB"
        passed = time.monotonic() - self._began
        left = passed * max(0, self._total - self._done) / max(1, self._done)
        return f"{self._title}: {amount}, {left:,.0f} s left"
