"""An attempt that was replaced, or has ended, can write nothing."""

from __future__ import annotations

from collections.abc import Callable
from inspect import isfunction, signature
from typing import Any

import pytest
from sqlalchemy import Engine

from ganboard.db.errors import LeaseLost
from ganboard.db.runs import checkpoint_reports, commands, expiry, reports
from tests.unit.db.stored_runs import (
    checkpoint,
    claimed,
    contents,
    finish_epoch,
    quality,
    sample,
    start,
    steps,
    submitted,
    training,
)

Own = dict[str, Any]
FOUND = {"step": 4, "attempt": 1, "epoch": 1, "digest": "ab", "size": 10}
WRITES: dict[str, Callable[[Engine, Own], object]] = {
    "renew": lambda engine, own: commands.renew(engine, **own),
    "finish": lambda engine, own: commands.finish(engine, **own, status="finished"),
    "died": lambda engine, own: expiry.died(engine, **own, cause="Killed"),
    "set_phase": lambda engine, own: reports.set_phase(engine, **own, phase="training"),
    "set_phase_progress": lambda engine, own: reports.set_phase_progress(engine, **own, text="1 %"),
    "set_started": start,
    "append_steps": lambda engine, own: steps(engine, own, 1, 0, [0.5]),
    "finish_epoch": lambda engine, own: finish_epoch(engine, own, 1),
    "add_quality": lambda engine, own: quality(engine, own, 1),
    "add_facts": lambda engine, own: reports.add_facts(engine, **own, values={"form": "plain"}),
    "add_grid": lambda engine, own: reports.add_grid(
        engine, **own, epoch=1, rows=1, columns=1, png=b"png"
    ),
    "add_checkpoint": lambda engine, own: checkpoint(engine, own, 4),
    "list_checkpoints": lambda engine, own: checkpoint_reports.list_checkpoints(
        engine, **own, found=[FOUND]
    ),
    "add_event": lambda engine, own: reports.add_event(engine, **own, level="info", text="late"),
    "add_sample": lambda engine, own: reports.add_sample(engine, sample(own)),
}


def refused(engine: Engine, own: Own) -> None:
    before = contents(engine)
    for name, write in WRITES.items():
        with pytest.raises(
            LeaseLost, match=f"^Attempt {own['attempt']} no longer owns run {own['run_id']}.$"
        ):
            write(engine, own)
        assert contents(engine) == before, name


def test_every_command_that_takes_an_attempt_is_tested() -> None:
    written = {
        name: command
        for module in (commands, expiry, reports, checkpoint_reports)
        for name, command in vars(module).items()
        if getattr(command, "__module__", None) == module.__name__ and not name.startswith("_")
    }
    fenced = {
        name
        for name, command in written.items()
        if isfunction(command) and "attempt" in signature(command).parameters
    }
    assert fenced | {"add_sample"} == set(WRITES)  # a sample names its attempt itself


def test_the_owner_may_write(engine: Engine) -> None:
    for write in WRITES.values():
        before = contents(engine)
        write(engine, training(engine))
        assert contents(engine) != before


def test_an_attempt_that_was_replaced(engine: Engine) -> None:
    old = training(engine, lease_seconds=-1)
    steps(engine, old, 1, 0, [0.1])
    new = training(engine, old["run_id"])
    assert new["attempt"] == old["attempt"] + 1
    refused(engine, old)


def test_an_attempt_whose_run_waits_again(engine: Engine) -> None:
    own = training(engine, lease_seconds=-1)
    assert expiry.expire_leases(engine) == [own["run_id"]]
    refused(engine, own)


@pytest.mark.parametrize("status", ["finished", "failed", "stopped", "suspended"])
def test_an_attempt_that_has_ended(engine: Engine, status: str) -> None:
    own = training(engine)
    commands.finish(engine, **own, status=status, error="It broke.")
    refused(engine, own)


def test_an_attempt_of_a_run_that_was_deleted(engine: Engine) -> None:
    own = claimed(engine)
    commands.finish(engine, **own, status="stopped")
    commands.delete_run(engine, run_id=own["run_id"])
    refused(engine, own)


def test_an_attempt_that_has_not_begun(engine: Engine) -> None:
    refused(engine, {"run_id": submitted(engine), "attempt": 0})


def test_a_late_owner_whom_nobody_replaced_goes_on(engine: Engine) -> None:
    """After the database was unavailable, the trainer finds its row untouched: nothing is lost by
    going on."""
    own = training(engine, lease_seconds=-1)
    assert commands.renew(engine, **own) is False
    assert expiry.expire_leases(engine) == []
