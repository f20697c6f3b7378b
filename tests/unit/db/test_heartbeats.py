from __future__ import annotations

from datetime import timedelta

from sqlalchemy import Engine

from ganboard.db import heartbeats
from ganboard.db.engine import writing
from ganboard.db.models import Worker, utc_now


def test_workers_and_their_age(engine: Engine) -> None:
    heartbeats.record(engine, name="b", host="box", pid=1, run_id=None, devices={"gpus": 2})
    heartbeats.record(engine, name="a", host="box", pid=2, run_id="abcdefghjk")
    heartbeats.record(engine, name="b", host="box", pid=3, run_id=None)
    with writing(engine) as session:
        session.get_one(Worker, "a").heartbeat_at = utc_now() - timedelta(seconds=16)
    a, b = heartbeats.workers(engine)
    assert (a.worker.name, a.worker.run_id, a.alive, b.worker.name, b.worker.pid, b.alive) == (
        "a",
        "abcdefghjk",
        False,
        "b",
        3,
        True,
    )
    assert b.worker.devices == {"gpus": 2}
    assert 15.5 < a.age_seconds < 30
    assert -0.01 <= b.age_seconds < 10


def test_workers_are_forgotten(engine: Engine) -> None:
    for name in ("gone", "dead", "here"):
        heartbeats.record(engine, name=name, host="box", pid=1, run_id=None)
    with writing(engine) as session:
        session.get_one(Worker, "dead").heartbeat_at = utc_now() - timedelta(seconds=3601)
    heartbeats.forget(engine, name="gone")
    heartbeats.forget(engine, name="nobody")
    heartbeats.record(engine, name="here", host="box", pid=1, run_id=None)
    assert [state.worker.name for state in heartbeats.workers(engine)] == ["here"]
