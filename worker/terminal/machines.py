"""How the command line shows the machines that share a queue."""

from __future__ import annotations

from collections.abc import Sequence

from rich import box
from rich.table import Table
from rich.text import Text

from ganboard.gan.devices import hardware
from ganboard.worker.fleet import Machine
from ganboard.worker.formatting import clean
from ganboard.worker.terminal.console import make_console


def print_machines(machines: Sequence[Machine]) -> None:
    """A table of machines, or a sentence where there are none."""
    console = make_console()
    if not machines:
        console.print("No machine has run a worker within the last hour: `ganboard up`.")
        return
    table = Table("machine", "state", "labels", "has", "workers", "trains", box=box.SIMPLE_HEAD)
    for one in machines:
        table.add_row(
            Text(clean(one.name), overflow="fold"),
            one.state.lower(),
            ", ".join(one.labels) or "–",
            Text(clean(hardware.devices(one.devices)) if one.devices else "not known yet"),
            f"{sum(state.alive for state in one.workers)}",
            Text(", ".join(clean(run.name) for run in one.trains) or "–", overflow="fold"),
        )
    console.print(table)
