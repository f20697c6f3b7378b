"""Which checkpoints are listed, at a new attempt and on another machine as well."""

from __future__ import annotations

from typing import Any

import pytest
from sqlalchemy import Engine

from ganboard.db.models import Checkpoint
from ganboard.db.runs import checkpoint_reports, queries
from tests.unit.db.stored_runs import checkpoint, texts, training


def listed(engine: Engine, run_id: str) -> list[tuple[int, int]]:
    return [
        (checkpoint.step, checkpoint.attempt) for checkpoint in queries.checkpoints(engine, run_id)
    ]


def test_only_the_newest_checkpoints_stay_listed(engine: Engine) -> None:
    own, other = training(engine), training(engine)
    checkpoint(engine, other, 1)
    for step in (4, 8, 12, 16):
        checkpoint(engine, own, step, keep=2)
    assert listed(engine, own["run_id"]) == [(12, 1), (16, 1)]
    assert listed(engine, other["run_id"]) == [(1, 1)]
    newest: Checkpoint = queries.checkpoints(engine, own["run_id"])[-1]
    assert (newest.digest, newest.size, newest.epoch) == ("digest 16", 1 << 40, 4)
    checkpoint(engine, own, 16, keep=2)
    assert listed(engine, own["run_id"]) == [(12, 1), (16, 1)]


def on_disk(*steps: int) -> list[dict[str, Any]]:
    """Checkpoints of attempt 1 as a trainer finds them."""
    return [
        {"step": step, "attempt": 1, "epoch": step // 4, "digest": f"digest {step}", "size": 9}
        for step in steps
    ]


@pytest.mark.parametrize(("machine", "where"), [(None, "here"), ("box-1", "on machine box-1")])
def test_checkpoints_that_a_new_attempt_could_not_use_are_forgotten_and_reported(
    engine: Engine, machine: str | None, where: str
) -> None:
    old = training(engine, lease_seconds=-1)
    for step in (4, 8, 12):
        checkpoint(engine, old, step, machine=machine)
    new = training(engine, old["run_id"], start_step=4)
    checkpoint_reports.list_checkpoints(engine, **new, found=on_disk(4), machine=machine)
    assert listed(engine, new["run_id"]) == [(4, 1)]
    assert (
        texts(engine, new["run_id"])[-1]
        == f"Lost {where} and no longer listed: the checkpoints of steps 8, 12."
    )
    checkpoint(engine, new, 6, keep=1, machine=machine)
    assert listed(engine, new["run_id"]) == [(6, 2)]


def test_what_another_machine_has_stays_listed(engine: Engine) -> None:
    old = training(engine, lease_seconds=-1)
    for step in (4, 8, 12):
        checkpoint(engine, old, step, machine="a")
    new = training(engine, old["run_id"], lease_seconds=60, start_step=4)
    checkpoint_reports.list_checkpoints(engine, **new, found=on_disk(4), machine="b")
    for step in (16, 20, 24):
        checkpoint(engine, new, step, keep=1, machine="b")
    where = [(one.step, one.machine) for one in queries.checkpoints(engine, new["run_id"])]
    assert where == [(8, "a"), (12, "a"), (24, "b")]
    assert not any(text.startswith("Lost") for text in texts(engine, new["run_id"]))


def test_a_file_with_another_digest_is_not_the_one_of_another_machine(engine: Engine) -> None:
    old = training(engine, lease_seconds=-1)
    checkpoint(engine, old, 4, machine="a")
    new = training(engine, old["run_id"], start_step=4)
    checkpoint_reports.list_checkpoints(
        engine, **new, found=[{**on_disk(4)[0], "digest": "other"}], machine="b"
    )
    [kept] = queries.checkpoints(engine, new["run_id"])
    assert (kept.machine, kept.digest) == ("a", "digest 4")


def test_files_of_which_nobody_recorded_where_they_are_belong_to_who_finds_them(
    engine: Engine,
) -> None:
    old = training(engine, lease_seconds=-1)
    checkpoint(engine, old, 4)
    new = training(engine, old["run_id"], start_step=4)
    checkpoint_reports.list_checkpoints(engine, **new, found=on_disk(4), machine="b")
    assert [one.machine for one in queries.checkpoints(engine, new["run_id"])] == ["b"]
