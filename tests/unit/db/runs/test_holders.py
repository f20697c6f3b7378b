"""Which machine has a run's checkpoints, and the waiting for it, on both databases."""

from __future__ import annotations

from typing import Any

import pytest
from sqlalchemy import Engine

from ganboard.db import heartbeats
from ganboard.db.errors import NotAllowed
from ganboard.db.models import Checkpoint
from ganboard.db.runs import commands, holders, queries
from tests.unit.db.stored_runs import checkpoint, stored, submitted, texts, training


def suspended(engine: Engine, *machines: str | None) -> dict[str, Any]:
    """A waiting run with a checkpoint on each of these machines, the newest on the last."""
    own = training(engine)
    for number, machine in enumerate(machines, 1):
        checkpoint(engine, own, 4 * number, machine=machine)
    commands.finish(engine, **own, status="suspended")
    return own


def newest(engine: Engine, own: dict[str, Any]) -> Checkpoint:
    found = holders.newest(engine, own["run_id"])
    assert found is not None
    return found


def test_the_newest_checkpoints_of_waiting_runs(engine: Engine) -> None:
    submitted(engine)
    one, two = suspended(engine, "a", "b"), suspended(engine, None)
    trains = training(engine)
    checkpoint(engine, trains, 4, machine="a")
    found = holders.newest_of_waiting(engine)
    assert {run_id: (row.step, row.machine) for run_id, row in found.items()} == {
        one["run_id"]: (8, "b"),
        two["run_id"]: (4, None),
    }
    assert holders.newest(engine, "nobody") is None


def test_waiting_is_said_once_and_ends_when_the_machine_is_back(engine: Engine) -> None:
    own = suspended(engine, "a")
    for _ in range(3):
        holders.wait(engine, newest(engine, own), 60)
    since = stored(engine, own["run_id"]).phase_since
    assert stored(engine, own["run_id"]).phase == holders.AWAITING
    assert (
        texts(engine, own["run_id"])[-1]
        == "Waiting up to 60 s for machine a, which has the checkpoint of step 4."
    )
    assert len(texts(engine, own["run_id"])) == 4
    assert not holders.give_up(engine, newest(engine, own), 60)
    holders.end_wait(engine, own["run_id"])
    assert stored(engine, own["run_id"]).phase is None
    holders.wait(engine, newest(engine, own), 60)
    assert stored(engine, own["run_id"]).phase_since > since  # type: ignore[operator]


def test_giving_up_keeps_what_is_listed(engine: Engine) -> None:
    own = suspended(engine, "a", None)
    assert not holders.give_up(engine, newest(engine, own), -1), "nobody waits yet"
    holders.wait(engine, newest(engine, own), 60)
    assert holders.give_up(engine, newest(engine, own), -1)
    assert not holders.give_up(engine, newest(engine, own), -1)
    run = stored(engine, own["run_id"])
    assert (run.status, run.attempt, run.failures, run.phase) == ("failed", 1, 0, None)
    assert run.ended_at is not None
    assert run.error is not None
    assert run.error.endswith(f"`ganboard resume {run.id} --without unknown`.")
    assert [one.machine for one in queries.checkpoints(engine, run.id)] == ["a", None]


@pytest.mark.parametrize("status", ["finished", "running"])
def test_only_waiting_runs_wait(engine: Engine, status: str) -> None:
    own = training(engine)
    checkpoint(engine, own, 4, machine="a")
    if status != "running":
        commands.finish(engine, **own, status=status)
    before = stored(engine, own["run_id"]).phase
    holders.wait(engine, newest(engine, own), 60)
    assert stored(engine, own["run_id"]).phase == before
    assert holders.awaited(engine, stored(engine, own["run_id"]), 60) is None


def test_a_stop_and_a_claim_end_the_waiting(engine: Engine) -> None:
    one, two = suspended(engine, "a"), suspended(engine, "a")
    for own in (one, two):
        holders.wait(engine, newest(engine, own), 60)
    commands.request_stop(engine, run_id=one["run_id"])
    assert (stored(engine, one["run_id"]).status, stored(engine, one["run_id"]).phase) == (
        "stopped",
        None,
    )
    assert commands.claim(engine, run_id=two["run_id"], worker="w") is not None
    assert stored(engine, two["run_id"]).phase == "starting"


def test_a_machine_that_has_the_files_is_recorded_unless_the_row_changed(engine: Engine) -> None:
    own = suspended(engine, None)
    seen = newest(engine, own)
    holders.adopt(engine, seen, "a")
    assert newest(engine, own).machine == "a"
    holders.adopt(engine, seen, "b")
    assert newest(engine, own).machine == "a"
    holders.adopt(engine, newest(engine, own), "b")
    assert newest(engine, own).machine == "b"


def test_checkpoints_are_given_up_by_name_alone(engine: Engine) -> None:
    own = suspended(engine, "a", "b", "b")
    commands.request_stop(engine, run_id=own["run_id"])
    with pytest.raises(NotAllowed, match="has no checkpoint on machine 'c'; they are on a, b"):
        commands.resume(engine, run_id=own["run_id"], without="c")
    assert stored(engine, own["run_id"]).status == "stopped"
    commands.resume(engine, run_id=own["run_id"], without="b")
    assert [one.step for one in queries.checkpoints(engine, own["run_id"])] == [4]
    assert (
        texts(engine, own["run_id"])[-2]
        == "Gave up the checkpoints on machine b (step 8, 12) as requested. Resuming from step 4."
    )


def test_workers_say_on_which_machine_they_are(engine: Engine) -> None:
    heartbeats.record(
        engine, name="box-1:1", host="box", pid=1, run_id=None, machine="box-1", boot="k"
    )
    [state] = heartbeats.workers(engine)
    assert (state.worker.machine, state.worker.boot) == ("box-1", "k")
