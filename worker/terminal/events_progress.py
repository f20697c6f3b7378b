"""How far a pass over events is: a bar with the time left on a terminal, a line now and then
elsewhere; both on stderr."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from ganboard.worker.terminal.transfer_progress import LINE_SECONDS

Report = Callable[[int, int], None]  # events done, events in all


@contextmanager
def watching(title: str, *, quiet: bool) -> Iterator[Report]:
    """What to tell of every step; shows nothing when `quiet`."""
    if quiet:
        yield lambda _done, _total: None
    elif sys.stderr.isatty():
        columns = (
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeRemainingColumn(),
        )
        with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
            task = progress.add_task(title, total=None)
            yield lambda done, total: progress.update(task, completed=done, total=total)
    else:
        yield _lines(title)


def _lines(title: str) -> Report:
    began = reported = time.monotonic()

    def report(done: int, total: int) -> None:
        nonlocal reported
        now = time.monotonic()
        if now - reported >= LINE_SECONDS:
            reported = now
            left = (now - began) * (total - done) / max(1, done)
            print(  # noqa: T201
                f"{title}: {done:,} of {total:,} events, {left:,.0f} s left",
                file=sys.stderr,
                flush=True,
            )

    return report
