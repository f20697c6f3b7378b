"""The commands for machines that share a queue: `ganboard machines`, `drain`, `undrain`,
`priority`. Thin, as `worker.cli.main`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from ganboard.worker.cli import output
from ganboard.worker.cli.options import AsJson, RunId, find, open_database

if TYPE_CHECKING:
    from ganboard.worker.fleet import Machine

MachineName = Annotated[
    str,
    typer.Argument(
        metavar="MACHINE", help="Name of a machine as in `ganboard machines`, or its beginning."
    ),
]


def machines(as_json: AsJson = False) -> None:
    """List the machines whose workers share this queue: labels, hardware, what each trains.

    Example:
      ganboard machines --json
    """
    from ganboard.worker import fleet

    found = fleet.machines(open_database().engine)
    if as_json:
        return output.print_json([_document(one) for one in found])
    from ganboard.worker.terminal.machines import print_machines

    return print_machines(found)


def drain(machine: MachineName, as_json: AsJson = False) -> None:
    """Let a machine start no further run, before it is updated or switched off; what it trains
    goes on to its end.

    Example:
      ganboard drain box-ab12cd34
    """
    from ganboard.db.placement import draining
    from ganboard.worker import fleet

    engine = open_database().engine
    draining.drain(engine, fleet.find(engine, machine).name)
    found = fleet.find(engine, machine)
    if as_json:
        return output.print_json(_document(found))
    trains = ", ".join(run.id for run in found.trains)
    now = f"It still trains {trains}." if trains else "It trains nothing and can be switched off."
    return typer.echo(f"Machine {found.name} starts no further runs. {now}")


def undrain(machine: MachineName, as_json: AsJson = False) -> None:
    """Let a machine start runs again.

    Example:
      ganboard undrain box-ab12cd34
    """
    from ganboard.db.placement import draining
    from ganboard.worker import fleet

    engine = open_database().engine
    name = fleet.find(engine, machine).name
    draining.undrain(engine, name)
    if as_json:
        return output.print_json(
            next((_document(one) for one in fleet.machines(engine) if one.name == name), None)
        )
    return typer.echo(f"Machine {name} starts runs again.")


def priority(
    run_id: RunId,
    number: Annotated[
        int, typer.Argument(metavar="NUMBER", help="From -100 to 100; the usual is 0.")
    ],
    as_json: AsJson = False,
) -> None:
    """Move a run in the queue: higher numbers start first.

    Examples:
      ganboard priority latest 10
      ganboard priority latest -- -5
    """
    from ganboard.db.placement import backlog

    context, found = find(run_id)
    backlog.set_priority(context.engine, run_id=found.id, priority=number)
    output.changed(context, found.id, f"Run {found.id} has priority {number}.", as_json)


def _document(machine: Machine) -> dict[str, Any]:
    return {
        "name": machine.name,
        "state": machine.state.lower(),
        "labels": machine.labels,
        "devices": machine.devices,
        "workers": [one.worker.name for one in machine.workers if one.alive],
        "trains": [run.id for run in machine.trains],
    }


def schedule(
    scheduler: Annotated[
        str, typer.Argument(metavar="SCHEDULER", help="slurm or kubernetes, as in placement.")
    ],
) -> None:
    """Submit the runs of this placement to the scheduler of a cluster, and follow their jobs, until
    Ctrl-C. `ganboard up` does so by itself on a machine that reaches the scheduler.

    Example:
      ganboard schedule slurm
    """
    from ganboard.worker.schedulers import driver

    raise typer.Exit(driver.main(scheduler))
