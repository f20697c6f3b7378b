from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from sqlalchemy import Engine, event, update
from sqlmodel import col

from ganboard.db import heartbeats, stats
from ganboard.db.clock import now
from ganboard.db.engine import make_engine, writing
from ganboard.db.errors import Unreachable
from ganboard.db.models import INFERENCE, STATUSES, TRAINING, Run, Worker
from ganboard.db.runs import checkpoint_reports, expiry, reports
from tests.unit.db.stored_runs import (
    checkpoint,
    finish_epoch,
    in_status,
    steps,
    submitted,
    training,
)


@contextmanager
def statements(engine: Engine) -> Iterator[list[str]]:
    seen: list[str] = []

    def note(_: object, __: object, statement: str, *___: object) -> None:
        seen.append(statement)

    event.listen(engine, "before_cursor_execute", note)
    yield seen
    event.remove(engine, "before_cursor_execute", note)


def test_an_empty_database_has_zeros(engine: Engine) -> None:
    taken = stats.take(engine)
    assert taken.runs == dict.fromkeys(STATUSES, 0)
    assert taken.events == {"info": 0, "warning": 0, "error": 0}
    assert (
        taken.epochs,
        taken.images,
        taken.attempts,
        taken.failures,
        taken.checkpoint_bytes,
        taken.workers,
    ) == (0,) * 6
    assert (taken.waiting_seconds, taken.oldest_heartbeat_seconds) == (0.0, 0.0)
    assert taken.database_bytes > 0


def test_it_counts_what_is_there(engine: Engine) -> None:
    for status in ("queued", "failed"):
        in_status(engine, status)
    own = training(engine)
    steps(engine, own, 1, 0, [0.5] * 4)
    finish_epoch(engine, own, 1)
    checkpoint(engine, own, 4)
    expiry.died(engine, **own, cause="It was killed")
    for name, kind, age in (("w-1", TRAINING, 0), ("w-2", TRAINING, 100), ("w-3", INFERENCE, 1)):
        heartbeats.record(engine, name=name, kind=kind, host="box", pid=1, run_id=None)
        with writing(engine) as session:
            session.execute(
                update(Worker).where(col(Worker.name) == name).values(heartbeat_at=now(-age))
            )
    with writing(engine) as session:
        session.execute(update(Run).where(col(Run.status) == "queued").values(queued_at=now(-500)))
    taken = stats.take(engine)
    assert {status: count for status, count in taken.runs.items() if count} == {
        "queued": 2,
        "failed": 1,
    }
    assert (taken.epochs, taken.images, taken.attempts, taken.failures) == (1, 4 * 64, 2, 1)
    assert (taken.events["warning"], taken.events["error"]) == (1, 1)
    assert taken.checkpoint_bytes == 1 << 40
    assert (taken.workers, taken.inference_workers) == (1, 1)
    assert taken.waiting_seconds == pytest.approx(500, abs=5)
    assert taken.oldest_heartbeat_seconds == pytest.approx(100, abs=5)


def test_two_statements_and_no_table_of_steps(engine: Engine) -> None:
    in_status(engine, "running")
    with statements(engine) as seen:
        stats.take(engine)
    asked = [statement for statement in seen if "SELECT" in statement]
    assert len(asked) == 2
    assert not [
        statement
        for statement in asked
        if "step_losses" in statement or "step_series" in statement or "FROM epoch" in statement
    ]


def test_a_database_that_is_away_is_one_sentence() -> None:
    with pytest.raises(Unreachable):
        stats.take(make_engine("postgresql+psycopg://nobody@127.0.0.1:1/nothing"))


def test_statistics_count(engine: Engine) -> None:
    own = training(engine)
    finish_epoch(engine, own, 1)
    finish_epoch(engine, own, 2)
    reports.add_grid(engine, **own, epoch=0, rows=1, columns=1, png=b"png")
    submitted(engine)
    found = stats.statistics(engine)
    assert {name: found[name] for name in ("run", "epoch", "grid", "checkpoint")} == {
        "run": 2,
        "epoch": 2,
        "grid": 1,
        "checkpoint": 0,
    }
    assert found["bytes"] > 10_000


def test_what_takes_room(engine: Engine) -> None:
    small, large = training(engine), training(engine)
    steps(engine, small, 1, 0, [0.5, 0.5, 0.5], g_rate=[1.0, 1.0, 1.0])
    reports.add_grid(engine, **small, epoch=0, rows=1, columns=1, png=b"12345")
    for own, count in ((small, 1), (large, 2)):
        for step in range(count):
            checkpoint_reports.add_checkpoint(
                engine, **own, step=step, epoch=0, digest="", size=1 << 40, keep=3
            )
    found = stats.stored_bytes(engine)
    assert found == {"series": 3 * 3 * 4, "grids": 5, "checkpoints": 3 << 40}
    largest = [(run.id, size) for run, size in stats.largest_runs(engine, limit=5)]
    assert largest == [(large["run_id"], 2 << 40), (small["run_id"], 1 << 40)]
    assert len(stats.largest_runs(engine, limit=1)) == 1


def test_nothing_takes_no_room(engine: Engine) -> None:
    assert stats.stored_bytes(engine) == {"series": 0, "grids": 0, "checkpoints": 0}
    assert stats.largest_runs(engine, limit=5) == []
