"""worker.fleet, and the commands that show and drain machines."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from ganboard.db import heartbeats
from ganboard.db.models import Run
from ganboard.db.placement import draining
from ganboard.db.runs import queries
from ganboard.worker import fleet
from ganboard.worker.context import Context
from ganboard.worker.errors import UnknownMachine
from tests.cli import document, ganboard, refused
from tests.factories import HARDWARE

MakeRun = Callable[..., Run]


@pytest.fixture
def box(context: Context, make_run: MakeRun) -> Run:
    """A machine with two workers, one of which trains the run."""
    run = make_run("trains", status="running")
    for slot, run_id in (("1", run.id), ("2", None)):
        heartbeats.record(
            context.engine,
            name=f"box-ab12cd34:{slot}",
            host="box",
            pid=7,
            run_id=run_id,
            devices=HARDWARE,
            machine="box-ab12cd34",
            labels=["lab3"],
        )
    return run


def test_workers_of_one_home_are_one_machine(context: Context, box: Run) -> None:
    [machine] = fleet.machines(context.engine)
    assert (machine.name, machine.state, machine.labels) == ("box-ab12cd34", "Alive", ["lab3"])
    assert [run.id for run in machine.trains] == [box.id]
    assert machine.devices == HARDWARE
    draining.drain(context.engine, "box-ab12cd34")
    draining.drain(context.engine, "away-1")
    away, drained = fleet.machines(context.engine)
    assert (away.name, away.state, away.workers) == ("away-1", "Drained", [])
    assert drained.state == "Draining"


@pytest.mark.usefixtures("box")
def test_a_name_may_be_its_beginning(context: Context) -> None:
    assert fleet.find(context.engine, "box").name == "box-ab12cd34"
    draining.drain(context.engine, "box")
    assert fleet.find(context.engine, "box").name == "box"
    with pytest.raises(UnknownMachine, match=r"More than one machine's name begins with 'bo'"):
        fleet.find(context.engine, "bo")
    with pytest.raises(UnknownMachine, match=r"There is no machine 'x'. Known machines: box, box-"):
        fleet.find(context.engine, "x")


def test_commands(context: Context, box: Run) -> None:
    [machine] = document("machines")
    assert (machine["name"], machine["state"]) == ("box-ab12cd34", "alive")
    assert (machine["labels"], machine["trains"]) == (["lab3"], [box.id])
    assert len(machine["workers"]) == 2
    shown = ganboard("machines").stdout
    assert "box-ab12cd34" in shown
    assert "lab3" in shown
    said = ganboard("drain", "box").stdout
    assert said == f"Machine box-ab12cd34 starts no further runs. It still trains {box.id}.\n"
    assert document("machines")[0]["state"] == "draining"
    assert ganboard("undrain", "box").stdout == "Machine box-ab12cd34 starts runs again.\n"
    assert draining.machines(context.engine) == {}
    assert "There is no machine 'x'" in refused("drain", "x")
    assert document("drain", "box")["state"] == "draining"
    assert document("undrain", "box")["state"] == "alive"


def test_without_workers_it_says_what_to_start(context: Context) -> None:
    assert queries.count_runs(context.engine) == 0
    assert document("machines") == []
    assert "`ganboard up`" in ganboard("machines").stdout


def test_priority(context: Context, make_run: MakeRun) -> None:
    run = make_run(status="queued")
    assert ganboard("priority", "latest", "5").stdout == f"Run {run.id} has priority 5.\n"
    ganboard("priority", "latest", "--", "-5")
    found = queries.get_run(context.engine, run.id)
    assert found is not None
    assert found.priority == -5
    assert "Priority 500 is not allowed" in refused("priority", run.id, "500")
