"""Display of a rehearsal: progress on stderr while it runs, then tables on stdout."""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping, Sequence
from typing import Any, Self

from rich import box
from rich.console import Console
from rich.status import Status
from rich.table import Table

from ganboard.worker.formatting import clean, duration, share, size
from ganboard.worker.rehearsal.rehearse import Watcher
from ganboard.worker.rehearsal.summary import fit, largest, layout, step_time
from ganboard.worker.terminal.console import make_console

_PARTS = 12  # rows of the table of parts


class Lines(Watcher):
    """A line on stderr for each report; on a terminal also the current state and the time left."""

    def __init__(self, *, quiet: bool) -> None:
        self._console = Console(
            stderr=True, markup=False, emoji=False, highlight=False, soft_wrap=True
        )
        self._status = Status("", console=self._console)
        self._quiet = quiet
        self._began = time.monotonic()

    def __enter__(self) -> Self:
        if sys.stderr.isatty():
            self._status.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._status.stop()

    def say(self, sentence: str) -> None:
        self._console.print(sentence)

    def doing(self, number: int, of: int, text: str) -> None:
        passed, done = time.monotonic() - self._began, number - 1
        left = f", about {duration(passed / done * (of - done))} left" if done else ""
        self._status.update(clean(f"{number} of {of}: {text}{left}"))

    def done(self, report: dict[str, Any]) -> None:
        if not self._quiet:
            what = f"{report['model']}, batch {report['batch_size']:,}"
            about = f"{report['target']}, {what}, {report['precision']}"
            self._console.print(clean(f"{about}: {fit(report)}; {duration(report['seconds'])}"))


def show(reports: Sequence[Mapping[str, Any]], *, parts: bool = True) -> None:
    """All reports on stdout: a row each, then, with `parts`, where the time of each goes."""
    console = make_console()
    table = Table(box=box.SIMPLE_HEAD)
    for heading in ("target", "model", "precision", "batch"):
        table.add_column(heading)
    columns = ("fits", "memory", "cycles", "step", "exchanges", "largest batch", "compiled in")
    for heading in columns:
        table.add_column(heading, justify="right")
    for report in reports:
        head = (report["target"], report["model"], report["precision"].removeprefix("mixed_"))
        if not report["compiles"]:
            table.add_row(*head, f"{report['batch_size']:,}", "no")
            continue
        memory = report["memory"]
        table.add_row(
            *head,
            f"{report['batch_size']:,}",
            "yes" if memory["total"] <= report["device_memory"] else "no",
            f"{size(memory['total'])} ({share(memory['total'] / report['device_memory'])})",
            _cycles(report),
            step_time(report),
            f"{report['collectives']} ({size(report['exchanged_bytes'])})",
            largest(report),
            duration(report["compile_seconds"]),
        )
    console.print(table)
    for report in reports:
        if report["compiles"] and parts:
            _show_parts(console, report)
        elif not report["compiles"]:
            about = f"{report['target']}, {report['model']}, {report['precision']}"
            console.print(clean(f"{about}: {report['reason']}"))


def _cycles(report: Mapping[str, Any]) -> str:
    """Estimated cycles of a step; nothing for a GPU, whose compiler estimates none."""
    cycles = round(sum(one["calls"] * one["cycles"] for one in report["programs"]))
    return f"{cycles:,}" if cycles else ""


def _show_parts(console: Console, report: Mapping[str, Any]) -> None:
    """Programs, collectives and the parts that take longest."""
    what = f"{report['model']}, batch {report['batch_size']:,}"
    console.print(f"{report['title']}: {what}, {report['precision']}")
    for program in report["programs"]:
        exchanges = ", ".join(
            f"{one['count']} {one['kind']} of {one['part']} ({size(one['bytes'])})"
            for one in program["collectives"]
        )
        console.print(
            f"  {program['name']}"
            + (f" x{program['calls']}" if program["calls"] > 1 else "")
            + f": {program['kernels']} operations, {program['fusions']} fusions,"
            f" {program['convolutions']} convolutions; {exchanges or 'no collectives'}"
        )
        parts = [
            f"{part['part']}{' backward' if part['backward'] else ''} {share(part['share'])}"
            for part in program["parts"][:_PARTS]
        ]
        console.print(f"    {', '.join(parts)}")
        if program["cycles"]:
            console.print(f"    {layout(program)}")
    console.print(f"  Step time: {report['basis']}.")
    for sentence in report["advice"]:
        console.print(f"  {sentence}")


def show_published(found: Mapping[str, Any]) -> None:
    """The steps of the published tables on stdout."""
    console = make_console()
    table = Table(box=box.SIMPLE_HEAD)
    for heading in ("model", "target"):
        table.add_column(heading)
    for heading in ("batch", "cycles", "step, ms", "of it exchange, ms", "memory"):
        table.add_column(heading, justify="right")
    for one in found["cells"]:
        head = (one["model"], one["target"], f"{one['batch']:,}")
        if not one["compiles"]:
            table.add_row(*head, clean(one["reason"]))
            continue
        seconds = one["computing_seconds"] + one["exchange_seconds"]
        table.add_row(
            *head,
            f"{one['cycles']:,}",
            f"{1e3 * seconds:.3g}",
            f"{1e3 * one['exchange_seconds']:.2g}",
            size(one["memory"]),
        )
    console.print(table)
    console.print(f"Compiled by {', '.join(found['compiled_by'])}, {found['date']}.")
