"""How the command line lists runs, and in which colour it shows a status. What people wrote is
shown as it is, never as markup or control codes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from rich import box
from rich.table import Table
from rich.text import Text

from ganboard.db.models import Run
from ganboard.worker.formatting import ago, clean, decimal, duration, rate
from ganboard.worker.terminal.console import make_console

STATUS_STYLES = {
    "queued": "yellow",
    "starting": "cyan",
    "running": "bold cyan",
    "finished": "green",
    "failed": "bold red",
    "stopped": "magenta",
    "pruned": "magenta",
    "suspended": "yellow",
}


def status_text(run: Run) -> Text:
    return Text(run.shown_status, style=STATUS_STYLES[run.shown_status])


def print_runs(
    runs: Sequence[Run], total: int, own: Mapping[str, Mapping[str, Any]] | None = None
) -> None:
    """A table of runs, newest first, and how many of all it shows; with columns of one's `own`, by
    run id, instead of the usual numbers."""
    table = Table("run", "name", "status", box=box.SIMPLE_HEAD)
    rows = [own[run.id] if own else _numbers(run) for run in runs]
    for heading in rows[0] if rows else ():
        table.add_column(Text(clean(heading)), justify="right", no_wrap=not own)
    for run, row in zip(runs, rows, strict=True):
        name = Text(clean(run.name), overflow="ellipsis", no_wrap=True)
        table.add_row(run.id, name, status_text(run), *map(_cell, row.values()))
    console = make_console()
    if runs:
        console.print(table)
        if total > len(runs):
            console.print(f"{len(runs)} of {total} runs: --limit {total} shows all.")
    else:
        console.print(
            "No runs. Start one: ganboard run --preset starter --follow"
            if not total
            else "No matching runs."
        )


def _numbers(run: Run) -> dict[str, str]:
    return {
        "epoch": f"{run.epoch}/{run.config.get('epochs', '?')}",
        "G loss": decimal(run.g_loss),
        "D loss": decimal(run.d_loss),
        "images/s": rate(run.images_per_second),
        "trained": duration(run.seconds or None),
        "created": ago((datetime.now(UTC) - run.created_at).total_seconds()),
    }


def _cell(value: Any) -> Text:
    if value is None:
        return Text("–")
    if isinstance(value, bool):
        return Text("on" if value else "off")
    return Text(f"{value:.6g}" if isinstance(value, float) else clean(str(value)))
