"""How far a computation is: steps done and time left, on a terminal as a bar, elsewhere as a few
lines on stderr."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

LINE_SECONDS = 10.0


@contextmanager
def make_view(title: str, *, quiet: bool) -> Iterator[Callable[[int, int], None]]:
    """A function to be called with (steps done, steps in all)."""
    if quiet:
        yield lambda done, total: None
    elif sys.stderr.isatty():
        with _bar() as bar:
            task = bar.add_task(title)
            yield lambda done, total: bar.update(task, completed=done, total=total)
    else:
        yield _lines(title)


def _bar() -> Progress:
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("steps"),
        TimeRemainingColumn(),
    )
    return Progress(*columns, console=Console(stderr=True), transient=True)


def _lines(title: str) -> Callable[[int, int], None]:
    began = last = time.monotonic()

    def report(done: int, total: int) -> None:
        nonlocal last
        now = time.monotonic()
        if now >= last + LINE_SECONDS:
            last = now
            left = (now - began) * (total - done) / max(1, done)
            typer.echo(f"{title}: {done:,} of {total:,} steps, {left:,.0f} s left", err=True)

    return report
