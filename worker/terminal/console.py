"""The console on which commands print, and findings of the doctor on it. What people wrote is shown
as it is, never as markup or control codes."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from ganboard.worker.formatting import clean

if TYPE_CHECKING:
    from ganboard.worker.doctor import Check

CHECK_STYLES = {"ok": "green", "warn": "yellow", "fail": "bold red"}
PIPE_WIDTH = 200  # columns for tables that no terminal limits


def make_console() -> Console:
    """stdout, found anew at each call; never interprets markup or emoji codes in what it prints."""
    return Console(
        markup=False,
        emoji=False,
        highlight=False,
        width=None if sys.stdout.isatty() else PIPE_WIDTH,
    )


def print_check(check: Check) -> None:
    """One finding of the doctor, and below it the remedy."""
    console = make_console()
    console.print(
        Text(f"{check.status:<5}", style=CHECK_STYLES[check.status]),
        Text(f"{check.name:<20} {clean(check.text)}"),
        sep="",
    )
    if check.remedy:
        console.print(Padding(Text(clean(check.remedy), style="dim"), (0, 0, 0, 26)))
