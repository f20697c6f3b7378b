"""Display of a first day: progress on stderr while it runs, then its results on stdout."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any, Self

from rich import box
from rich.console import Console
from rich.status import Status
from rich.table import Table
from rich.text import Text

from ganboard.worker.firstday.day import Result, Watcher
from ganboard.worker.formatting import clean, duration
from ganboard.worker.terminal.console import make_console

STYLES = {"ok": "green", "warn": "yellow", "fail": "bold red", "not done": "dim"}


class Lines(Watcher):
    """A line on stderr for each part; on a terminal also the current state and the time left."""

    def __init__(self) -> None:
        self._console = Console(
            stderr=True, markup=False, emoji=False, highlight=False, soft_wrap=True
        )
        self._status = Status("", console=self._console)

    def __enter__(self) -> Self:
        if sys.stderr.isatty():
            self._status.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._status.stop()

    def doing(self, part: str, text: str, seconds_left: float) -> None:
        left = f"{duration(max(0.0, round(seconds_left)))} of the time left"
        self._status.update(clean(f"{part}: {text} ({left})"))

    def done(self, result: Result) -> None:
        took = duration(result.seconds)
        self._console.print(clean(f"{result.title}: {result.status}, {result.text} ({took})"))


def head(found: Mapping[str, Any]) -> str:
    """One sentence on the machine and the time."""
    hardware = found["hardware"]
    kind = "" if hardware["gpus"] or hardware["tpus"] else " No accelerator was found here."
    unused = f" {hardware['unused']}" if hardware.get("unused") else ""
    return (
        f"{hardware['host']}: {hardware['devices']}; {duration(found['seconds'])} of"
        f" {duration(found['minutes'] * 60)}.{kind}{unused}"
    )


def show(found: Mapping[str, Any]) -> None:
    """The document on stdout."""
    console = make_console()
    console.print(clean(head(found)))
    for part in found["parts"]:
        console.print()
        line = Text(f"{part['status']:<9}", style=STYLES[part["status"]])
        console.print(line, Text(clean(f"{part['title']}: {part['text']}")), sep="")
        if part["rows"]:
            table = Table(box=box.SIMPLE_HEAD)
            for column in part["columns"]:
                table.add_column(column)
            for row in part["rows"]:
                table.add_row(*(clean(cell) for cell in row))
            console.print(table)
        for missing in part["not_done"]:
            console.print(clean(f"         not done: {missing}"), style="dim")
