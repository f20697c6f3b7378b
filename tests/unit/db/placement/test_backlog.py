"""db.placement.backlog: the order of the queue."""

from __future__ import annotations

import pytest
from sqlalchemy import Engine

from ganboard.db.errors import NotAllowed, UnknownRun
from ganboard.db.placement import backlog
from ganboard.db.runs import commands, queries


def queued(engine: Engine, name: str, **row: str | int) -> str:
    run = commands.create_run(engine, name=name, config={"epochs": 1}, **row)  # type: ignore[arg-type]
    return run.id


def order(engine: Engine) -> list[str]:
    found = backlog.waiting_runs(engine)
    assert [backlog.queue_position(engine, run) for run in found] == list(range(len(found)))
    return [run.name for run in found]


def test_priority_then_the_share_of_the_owner_then_time(engine: Engine) -> None:
    for number in range(3):
        queued(engine, f"ann {number}", owner="ann")
    queued(engine, "bob", owner="bob")
    queued(engine, "late", owner="ann", priority=1)
    queued(engine, "never", owner="bob", priority=-1)
    assert order(engine) == ["late", "ann 0", "ann 1", "ann 2", "bob", "never"]
    # Ann's run trains: Bob, of whom none does, comes before her others
    [first] = [run for run in backlog.waiting_runs(engine) if run.name == "ann 0"]
    assert commands.claim(engine, run_id=first.id, worker="w")
    assert order(engine) == ["late", "bob", "ann 1", "ann 2", "never"]
    assert [run.name for run in backlog.waiting_runs(engine, limit=2, offset=1)] == ["bob", "ann 1"]


def test_a_run_is_moved_and_says_so(engine: Engine) -> None:
    first, second = queued(engine, "first"), queued(engine, "second")
    for _ in range(2):
        backlog.set_priority(engine, run_id=second, priority=100)
    assert order(engine) == ["second", "first"]
    said = [event.text for event in queries.events(engine, second)]
    assert said.count("Priority set to 100.") == 1
    backlog.set_priority(engine, run_id=first, priority=100)
    assert order(engine) == ["first", "second"]


@pytest.mark.parametrize("priority", [-101, 101])
def test_what_cannot_be_moved_says_why(engine: Engine, priority: int) -> None:
    run = queued(engine, "run")
    with pytest.raises(NotAllowed, match=f"Priority {priority} is not allowed: .* -100 to 100"):
        backlog.set_priority(engine, run_id=run, priority=priority)
    commands.request_stop(engine, run_id=run)
    with pytest.raises(NotAllowed, match="is stopped and does not wait"):
        backlog.set_priority(engine, run_id=run, priority=1)
    with pytest.raises(UnknownRun):
        backlog.set_priority(engine, run_id="unknown", priority=1)
