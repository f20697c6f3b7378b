"""worker.placement.forming: which machines make a group, and why a run on several waits."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import update
from sqlmodel import col

from ganboard.db import heartbeats
from ganboard.db.clock import now
from ganboard.db.engine import writing
from ganboard.db.models import Run
from ganboard.db.placement import draining, groups, links
from ganboard.db.runs import commands
from ganboard.db.settings import Settings
from ganboard.gan.needs import Offer
from ganboard.worker import placement
from ganboard.worker.context import Context
from ganboard.worker.placement import forming, waiting
from ganboard.worker.placement.forming import Fleet
from ganboard.worker.process import machine
from tests.factories import HARDWARE

TOGETHER = {"strategy": "multi_worker", "replicas": 2, "hosts": 2, "batch_size": 32, "epochs": 1}
VERSIONS = {"tensorflow": "2.21.0", "ganboard": "1"}
Add = Callable[..., str]


@pytest.fixture
def add(context: Context) -> Add:
    """Lets a worker of another machine give a heartbeat."""

    def one(
        name: str, *, versions: Mapping[str, str] = VERSIONS, address: str = "", **values: Any
    ) -> str:
        own = {"host": name, "machine": f"{name}-1", "pid": 1, "run_id": None, **values}
        devices = {**HARDWARE, "versions": dict(versions)}
        heartbeats.record(
            context.engine,
            name=f"{name}:1",
            devices=devices,
            boot="b",
            address=address or f"10.0.0.{len(name)}",
            **own,
        )
        return f"{name}:1"

    return one


def together(context: Context, **changes: object) -> Run:
    return commands.create_run(context.engine, name="a run", config={**TOGETHER, **changes})


def here(context: Context, add: Add) -> str:
    """A worker of this machine."""
    return add("box", machine=machine.name(context.settings))


def next_of(context: Context, worker: str) -> str | None:
    run = placement.next_run(context, Offer(devices=HARDWARE), worker=worker)
    return run and run.id


def test_a_run_starts_when_enough_machines_are_free(context: Context, add: Add) -> None:
    run, own = together(context), here(context, add)
    assert next_of(context, own) is None
    assert placement.claim(context, run.id, own) is None
    other = add("other")
    assert next_of(context, own) == run.id
    claim = placement.claim(context, run.id, own)
    assert claim is not None
    assert [one.worker for one in groups.members(context.engine, run.id)] == [own, other]


def test_two_workers_of_a_machine_are_one_machine(context: Context, add: Add) -> None:
    run, own = together(context), here(context, add)
    heartbeats.record(
        context.engine,
        name="box:2",
        host="box",
        machine=machine.name(context.settings),
        pid=2,
        run_id=None,
    )
    assert next_of(context, own) is None
    assert placement.claim(context, run.id, own) is None


def test_hosts_that_share_a_home_are_several(context: Context, add: Add) -> None:
    own = here(context, add)
    run = together(context)
    add("other", machine=machine.name(context.settings))
    assert next_of(context, own) == run.id


def test_machines_that_do_not_reach_each_other_train_nothing_together(
    context: Context, add: Add
) -> None:
    own, other = here(context, add), add("other")
    run = together(context)
    links.broke(context.engine, "10.0.0.5", "10.0.0.3")
    assert next_of(context, own) is None
    assert re.fullmatch(
        r"Needs 2 machines, and 1 can train it together: other .* and box .* did not reach each"
        r" other a moment ago: .*GANBOARD_PORTS.*",
        waiting.reasons(context, [run])[run.id].reason,
    )
    third = add("another")
    assert next_of(context, own) == run.id
    assert placement.claim(context, run.id, own) is not None
    assert [one.worker for one in groups.members(context.engine, run.id)] == [own, third]
    assert other not in groups.engaged(context.engine)


def test_a_group_has_no_broken_connection_between_followers(context: Context, add: Add) -> None:
    own = here(context, add)
    run = together(context, hosts=3, replicas=3, batch_size=33)
    for name in ("other", "another"):
        add(name)
    links.broke(context.engine, "10.0.0.5", "10.0.0.7")
    assert next_of(context, own) is None
    assert "did not reach each other" in waiting.reasons(context, [run])[run.id].reason
    add("the fourth")
    assert next_of(context, own) == run.id


def test_a_machine_stays_free_for_the_group_that_is_next(context: Context, add: Add) -> None:
    own, busy = here(context, add), add("busy")
    trained = commands.create_run(context.engine, name="trains", config=TOGETHER | {"hosts": 1})
    assert commands.claim(context.engine, run_id=trained.id, worker=busy) is not None
    run = together(context)
    behind = commands.create_run(context.engine, name="behind", config={"epochs": 1})
    assert next_of(context, own) is None, "it waits for the other machine"
    reason = waiting.reasons(context, [run])[run.id]
    assert reason.reason == "Needs 2 machines at once, and 1 of 2 are free"
    commands.finish(context.engine, run_id=trained.id, attempt=1, status="finished")
    assert next_of(context, own) == run.id
    draining.drain(context.engine, "busy-1")
    assert next_of(context, own) == behind.id, "no group is possible any more"


@pytest.mark.parametrize(
    ("values", "words"),
    [
        (
            {"versions": {**VERSIONS, "tensorflow": "2.20.0"}},
            "has tensorflow 2.20.0 and .* 2.21.0: install the same",
        ),
        ({"address": "127.0.0.1"}, "no other machine reaches other .*: set GANBOARD_ADDRESS there"),
        ({"labels": []}, "other .* lacks lab"),
    ],
)
def test_what_keeps_two_machines_apart_is_named(
    context: Context, add: Add, values: dict[str, Any], words: str
) -> None:
    run = together(context, needs="lab")
    own = here(context, add)
    add("box", machine=machine.name(context.settings), labels=["lab"])
    add("other", **{"labels": ["lab"], **values})
    assert placement.claim(context, run.id, own) is None
    reason = waiting.reasons(context, [run])[run.id].reason
    fleet = Fleet.of(context)
    a, b = fleet.machines()
    assert reason.startswith("Needs 2 machines, and 1 can train it together: ")
    found = [forming.obstacle(run, one, other) for one, other in ((a, b), (b, a))]
    assert any(re.search(words, text or "") for text in found), found


def test_machines_on_loopback_form_a_group_only_on_one_kernel(
    context: Context, add: Add, tmp_path: Path
) -> None:
    run = together(context)
    own = add("box", machine=machine.name(context.settings), address="127.0.0.1")
    add("other", address="127.0.0.1")
    assert next_of(context, own) == run.id
    assert Settings(home=tmp_path).address == ""


def test_preferred_machines_come_first(context: Context, add: Add) -> None:
    own = here(context, add)
    run = together(context, prefers="host=zebra")
    add("alpha")
    wanted = add("zebra")
    assert placement.claim(context, run.id, own) is not None
    assert groups.members(context.engine, run.id)[1].worker == wanted


def suspended(context: Context, waited: float, **changes: object) -> Run:
    """A run on three machines that has trained before and waits since."""
    run = together(context, **{"replicas": 3, "hosts": 3, "batch_size": 24, **changes})
    assert commands.claim(context.engine, run_id=run.id, worker="before") is not None
    commands.finish(context.engine, run_id=run.id, attempt=1, status="suspended")
    with writing(context.engine) as session:
        values = {"queued_at": now(-waited)}
        session.execute(update(Run).where(col(Run.id) == run.id).values(**values))
    return run


@pytest.mark.parametrize(
    ("changes", "waited", "machines"),
    [
        ({}, 1000, 0),
        ({"on_lost_host": "shrink"}, 10, 0),
        ({"on_lost_host": "shrink"}, 1000, 2),
        ({"on_lost_host": "shrink", "batch_size": 27}, 1000, 1),
    ],
)
def test_a_run_goes_on_with_fewer_machines_where_it_may(
    context: Context, add: Add, changes: dict[str, object], waited: float, machines: int
) -> None:
    own = here(context, add)
    add("other")
    run = suspended(context, waited, **changes)
    assert (next_of(context, own) == run.id) == bool(machines)
    claim = placement.claim(context, run.id, own)
    assert (claim is not None) == bool(machines)
    members = groups.members(context.engine, run.id)
    assert len(members) == (machines if machines > 1 else 0)


def test_a_run_that_never_trained_waits_for_all_its_machines(context: Context, add: Add) -> None:
    own = here(context, add)
    add("other")
    run = together(context, replicas=3, hosts=3, batch_size=24, on_lost_host="shrink")
    assert placement.claim(context, run.id, own) is None
