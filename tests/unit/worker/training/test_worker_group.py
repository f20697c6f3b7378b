"""worker.training.worker_group: machines that wait for each other, and notice each other's end."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator, Sequence
from contextlib import ExitStack

import pytest
from sqlalchemy import update
from sqlmodel import col

from ganboard.db.clock import now
from ganboard.db.engine import writing
from ganboard.db.errors import LeaseLost
from ganboard.db.models import Member
from ganboard.db.placement import groups
from ganboard.db.placement.groups import Place
from ganboard.db.runs import commands
from ganboard.gan.config import ConfigError
from ganboard.gan.distributed.cluster import Cluster
from ganboard.gan.events import TrainingFailed
from ganboard.worker.context import Context
from ganboard.worker.training import trainer, worker_group
from ganboard.worker.training.worker_group import (
    Incomplete,
    Unreached,
    Watch,
    cause_elsewhere,
    gathered,
)
from tests.polling import wait_until


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker_group, "POLL_SECONDS", 0.05)
    monkeypatch.setattr(worker_group, "SILENT_SECONDS", 0.3)


@pytest.fixture
def members(context: Context) -> Sequence[Member]:
    """Those of a group of two that was just claimed."""
    run = commands.create_run(context.engine, name="a run", config={"hosts": 2})
    places = [
        Place(f"{name}:1", f"{name}-1", name, f"127.0.0.{n}") for n, name in enumerate("ab", 1)
    ]
    assert commands.claim(context.engine, run_id=run.id, worker="a:1", group=places) is not None
    return groups.members(context.engine, run.id)


def nothing() -> None:
    """Neither stops nor renews."""


def expire(context: Context, member: Member) -> None:
    with writing(context.engine) as session:
        own = update(Member).where(col(Member.worker) == member.worker)
        session.execute(own.values(lease_until=now(-1)))


def refreshed(context: Context, member: Member) -> Member:
    return groups.members(context.engine, member.run_id)[member.index]


def watch(context: Context, member: Member, over: threading.Event, **does: object) -> Watch:
    options = {"end": over.set, "leave": nothing, "shuts_down": lambda: False, **does}
    return Watch(context.engine, member, **options)  # type: ignore[arg-type]


def test_each_machine_gets_the_ranks_behind_those_before_it(
    context: Context, members: Sequence[Member]
) -> None:
    found: dict[int, list[Cluster]] = {}

    def join(member: Member) -> None:
        with gathered(context.engine, context.settings, member, 2, nothing) as places:
            found[member.index] = places

    threads = [threading.Thread(target=join, args=[member]) for member in members]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert [place.rank for place in found[0] + found[1]] == [0, 1, 2, 3]
    (addresses,) = {place.addresses for place in found[0] + found[1]}
    assert [address.partition(":")[0] for address in addresses] == ["127.0.0.1"] * 2 + [
        "127.0.0.2"
    ] * 2
    assert found[1][0].hosts == ("a", "a", "b", "b")


def test_a_machine_that_does_not_come_is_named(
    context: Context, members: Sequence[Member], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker_group, "GATHER_SECONDS", 0.3)
    with (
        pytest.raises(Incomplete, match=r"b \(b-1\) did not start its part"),
        gathered(context.engine, context.settings, members[0], 1, nothing),
    ):
        pytest.fail("it was alone")


def test_a_machine_that_failed_is_not_waited_for(
    context: Context, members: Sequence[Member]
) -> None:
    groups.report(context.engine, members[1], failure="b (b-1): no such data set")
    with (
        pytest.raises(Incomplete, match="no such data set"),
        gathered(context.engine, context.settings, members[0], 1, nothing),
    ):
        pytest.fail("it was alone")


@pytest.fixture
def silent_port() -> Iterator[int]:
    """A port of 127.0.0.1 that answers no connection: its queue is full."""
    with ExitStack() as stack:
        server = stack.enter_context(socket.create_server(("127.0.0.1", 0), backlog=0))
        for _ in range(2):
            waiting = stack.enter_context(socket.socket())
            waiting.setblocking(False)
            waiting.connect_ex(server.getsockname())
        yield server.getsockname()[1]


@pytest.mark.parametrize("index", [0, 1])
def test_machines_that_do_not_reach_each_other_say_so(
    context: Context,
    members: Sequence[Member],
    monkeypatch: pytest.MonkeyPatch,
    silent_port: int,
    index: int,
) -> None:
    monkeypatch.setattr(worker_group, "REACH_SECONDS", 0.2)
    own, other = members[index], members[1 - index]
    with writing(context.engine) as session:
        far = update(Member).where(col(Member.worker) == other.worker)
        session.execute(far.values(address="127.0.0.1", ports=[silent_port]))
        near = update(Member).where(col(Member.worker) == own.worker)
        session.execute(near.values(address="127.0.0.2"))
    name = {0: "b", 1: "a"}[index]
    with (
        pytest.raises(Unreached, match=rf"does not reach {name} \({name}-1\) at 127\.0\.0\.1"),
        gathered(context.engine, context.settings, refreshed(context, own), 1, nothing),
    ):
        pytest.fail("no packet passes")
    members = groups.members(context.engine, own.run_id)
    assert worker_group.apart(context.engine, members)
    with (
        pytest.raises(Unreached, match="does not reach"),
        gathered(context.engine, context.settings, members[1 - index], 1, nothing),
    ):
        pytest.fail("the other one said so")


def test_the_end_of_an_attempt_ends_all_parts(context: Context, members: Sequence[Member]) -> None:
    over = threading.Event()
    with watch(context, members[1], over):
        commands.finish(context.engine, run_id=members[0].run_id, attempt=1, status="stopped")
        assert over.wait(20)
    with (
        pytest.raises(LeaseLost),
        gathered(context.engine, context.settings, members[1], 1, nothing),
    ):
        pytest.fail("the attempt is over")


def test_the_leader_hears_of_a_failure(context: Context, members: Sequence[Member]) -> None:
    over = threading.Event()
    with watch(context, members[0], over) as leader:
        groups.report(context.engine, members[1], failure="b (b-1): it broke", final=True)
        assert over.wait(20)
    assert leader.trouble is not None
    assert (leader.trouble.failure, leader.trouble.final) == ("b (b-1): it broke", True)


def test_a_lease_must_stay_expired_to_count(context: Context, members: Sequence[Member]) -> None:
    over = threading.Event()
    with watch(context, members[0], over) as leader:
        expire(context, members[1])
        wait_until(lambda: bool(leader._silent), seconds=20)
        groups.report(context.engine, members[1])
        wait_until(lambda: not leader._silent, seconds=20)
        assert not over.is_set()
        expire(context, members[1])
        assert over.wait(20)
    assert leader.trouble is not None
    assert leader.trouble.failure == "No heartbeat from b (b-1) any more"


def test_a_machine_that_shuts_down_lets_the_leader_suspend(
    context: Context, members: Sequence[Member]
) -> None:
    over, left = threading.Event(), threading.Event()
    with (
        watch(context, members[0], over, leave=left.set) as leader,
        watch(context, members[1], over, shuts_down=lambda: True),
    ):
        assert left.wait(20)
    assert leader.leaving is not None
    assert leader.leaving.worker == "b:1"


def test_the_cause_of_a_lost_connection_is_found(
    context: Context, members: Sequence[Member], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker_group, "CAUSE_SECONDS", 0.3)
    assert cause_elsewhere(context.engine, members[0]) is None
    groups.report(context.engine, members[1], ended=True)
    assert cause_elsewhere(context.engine, members[0]) is None, "it ended for the same reason"
    groups.report(context.engine, members[1], failure="b (b-1): Rank 1 was killed")
    found = cause_elsewhere(context.engine, members[0])
    assert found is not None
    assert found.failure == "b (b-1): Rank 1 was killed"


def test_what_the_leaders_host_lacks_carries_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    lacks, broken = ConfigError("no such data set"), TrainingFailed("a loss is not finite")
    assert trainer._on_which_host(lacks) == "no such data set"
    for name, value in Cluster(("a:1", "b:2"), 0, ("box1", "box2")).environment().items():
        monkeypatch.setenv(name, value)
    assert trainer._on_which_host(lacks) == "box1: no such data set"
    assert trainer._on_which_host(broken) == "a loss is not finite"
