"""How the command line shows deleted runs."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from rich import box
from rich.table import Table
from rich.text import Text

from ganboard.db.models import Run
from ganboard.db.runs import trash
from ganboard.worker.formatting import ago, clean, duration
from ganboard.worker.terminal.console import make_console
from ganboard.worker.terminal.runs import status_text


def print_trash(runs: Sequence[Run], total: int, present: datetime) -> None:
    """A table of deleted runs, and when they will be removed; `present` is the database's time."""
    table = Table("run", "name", "status", box=box.SIMPLE_HEAD)
    for heading in ("epoch", "deleted", "removed in"):
        table.add_column(heading, justify="right", no_wrap=True)
    for run in runs:
        assert run.deleted_at is not None
        table.add_row(
            run.id,
            Text(clean(run.name), overflow="ellipsis", no_wrap=True),
            status_text(run),
            f"{run.epoch}/{run.config.get('epochs', '?')}",
            ago((present - run.deleted_at).total_seconds()),
            duration(max(0.0, (trash.removed_at(run.deleted_at) - present).total_seconds())),
        )
    console = make_console()
    if not runs:
        console.print("The trash is empty." if not total else "No matching runs.")
        return
    console.print(table)
    if total > len(runs):
        console.print(f"{len(runs)} of {total} runs: --limit {total} shows all.")
    console.print("`ganboard undelete RUN` restores a run.", style="dim")
