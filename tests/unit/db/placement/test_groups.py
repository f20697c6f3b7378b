"""db.placement.groups: all workers of a group or none, and nobody twice."""

from __future__ import annotations

import threading

import pytest
from sqlalchemy import Engine, update
from sqlmodel import col

from ganboard.db import heartbeats
from ganboard.db.clock import now
from ganboard.db.engine import writing
from ganboard.db.errors import LeaseLost
from ganboard.db.models import Member
from ganboard.db.placement import groups
from ganboard.db.placement.groups import Place
from ganboard.db.runs import commands
from tests.unit.db.stored_runs import stored, submitted, texts


def workers(engine: Engine, *names: str) -> list[Place]:
    for name in names:
        heartbeats.record(engine, name=name, host=name, pid=1, run_id=None, machine=name)
    return [Place(name, name, name, "10.0.0.1") for name in names]


def claim(engine: Engine, run_id: str, group: list[Place]) -> commands.Claim | None:
    return commands.claim(engine, run_id=run_id, worker=group[0].worker, group=group)


def test_a_group_is_claimed_as_one_and_leads_to_its_members(engine: Engine) -> None:
    run_id = submitted(engine)
    group = workers(engine, "a", "b", "c")
    assert claim(engine, run_id, group) is not None
    members = groups.members(engine, run_id)
    assert [(one.index, one.worker, one.attempt) for one in members] == [
        (0, "a", 1),
        (1, "b", 1),
        (2, "c", 1),
    ]
    assert groups.engaged(engine) == {"a", "b", "c"}
    assert (found := groups.of_worker(engine, "b")) is not None
    assert (found.run_id, found.index) == (run_id, 1)
    assert "Attempt 1 started on a, leading b, c." in texts(engine, run_id)


@pytest.mark.parametrize("busy", ["trains", "member"])
def test_no_group_without_all_of_its_workers(engine: Engine, busy: str) -> None:
    a, b, c = workers(engine, "a", "b", "c")
    first, second = submitted(engine), submitted(engine)
    if busy == "trains":
        assert commands.claim(engine, run_id=first, worker="b") is not None
    else:
        assert claim(engine, first, [c, b]) is not None
    assert claim(engine, second, [a, b]) is None
    assert stored(engine, second).status == "queued"
    assert groups.members(engine, second) == []
    assert groups.of_worker(engine, "a") is None


def test_a_member_claims_nothing_until_its_group_ends(engine: Engine) -> None:
    group = workers(engine, "a", "b")
    together, alone = submitted(engine), submitted(engine)
    assert claim(engine, together, group) is not None
    assert commands.claim(engine, run_id=alone, worker="b") is None
    commands.finish(engine, run_id=together, attempt=1, status="finished")
    assert groups.members(engine, together) == []
    assert commands.claim(engine, run_id=alone, worker="b") is not None


def test_a_member_whose_part_is_over_is_free(engine: Engine) -> None:
    together, alone = submitted(engine), submitted(engine)
    assert claim(engine, together, workers(engine, "a", "b")) is not None
    (_, member) = groups.members(engine, together)
    groups.report(engine, member, ended=True, failure="it broke")
    assert groups.of_worker(engine, "b") is None
    assert groups.members(engine, together)[1].failure == "it broke"
    assert commands.claim(engine, run_id=alone, worker="b") is not None


def test_reports_end_with_the_attempt(engine: Engine) -> None:
    run_id = submitted(engine)
    group = workers(engine, "a", "b")
    assert claim(engine, run_id, group) is not None
    (_, member) = groups.members(engine, run_id)
    groups.report(engine, member, ports=[20000])
    assert groups.members(engine, run_id)[1].ports == [20000]
    commands.finish(engine, run_id=run_id, attempt=1, status="suspended")
    with pytest.raises(LeaseLost):
        groups.report(engine, member)
    assert claim(engine, run_id, group[::-1]) is not None
    with pytest.raises(LeaseLost):
        groups.report(engine, member)
    assert [one.worker for one in groups.members(engine, run_id)] == ["b", "a"]


def test_a_lease_runs_out_and_can_be_renewed(engine: Engine) -> None:
    run_id = submitted(engine)
    assert claim(engine, run_id, workers(engine, "a", "b")) is not None
    assert groups.lost(engine, run_id) == []
    with writing(engine) as session:
        session.execute(update(Member).where(col(Member.worker) == "b").values(lease_until=now(-1)))
    (silent,) = groups.lost(engine, run_id)
    assert silent.worker == "b"
    groups.report(engine, silent)
    assert groups.lost(engine, run_id) == []


def test_groups_that_overlap_and_single_runs_claimed_at_once_take_no_worker_twice(
    engine: Engine,
) -> None:
    a, b, c = workers(engine, "a", "b", "c")
    for _ in range(4):
        wanted = [[a, b], [b, c], [c, a], [a], [b], [c]]
        runs = [submitted(engine) for _ in wanted]
        gate = threading.Barrier(len(wanted))

        def claims(run_id: str, group: list[Place], gate: threading.Barrier = gate) -> None:
            gate.wait()
            several = group if len(group) > 1 else []
            commands.claim(engine, run_id=run_id, worker=group[0].worker, group=several)

        threads = [
            threading.Thread(target=claims, args=one) for one in zip(runs, wanted, strict=True)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        taken = [
            place.worker
            for run_id, group in zip(runs, wanted, strict=True)
            if stored(engine, run_id).status == "starting"
            for place in group
        ]
        members = [one.worker for run_id in runs for one in groups.members(engine, run_id)]
        assert len(members) == len(set(members))
        # a worker process claims one run at a time; what it must not be is a member beside it
        followers = [one.worker for run_id in runs for one in groups.members(engine, run_id)[1:]]
        assert all(taken.count(name) == 1 for name in followers), (taken, followers)
        for run_id in runs:
            if stored(engine, run_id).status == "starting":
                commands.finish(engine, run_id=run_id, attempt=1, status="finished")
            else:
                commands.request_stop(engine, run_id=run_id)
