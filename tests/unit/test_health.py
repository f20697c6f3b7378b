from __future__ import annotations

import socket

import pytest
from sqlalchemy import update
from sqlmodel import col

from db import commands
from db.clock import now
from db.engine import writing
from db.models import Worker
from worker import health
from worker.context import Context


def beat(context: Context, host: str, *, seconds_ago: float = 0.0) -> None:
    commands.beat(context.engine, name=f"{host}:1", host=host, pid=1, run_id=None)
    with writing(context.engine) as session:
        session.execute(update(Worker).where(col(Worker.host) == host).values(beat_at=now(-seconds_ago)))


def test_a_live_worker_of_this_host_is_healthy(context: Context) -> None:
    beat(context, "here", seconds_ago=14)
    assert health.complaint(context.engine, "here") is None


def test_a_silent_worker_is_named_with_its_age(context: Context) -> None:
    beat(context, "here", seconds_ago=16)
    complaint = health.complaint(context.engine, "here")
    assert complaint is not None
    assert "here gave its last sign of life 16 s ago" in complaint


def test_workers_of_other_hosts_do_not_count(context: Context) -> None:
    beat(context, "there")
    assert health.complaint(context.engine, "here") == "No worker of here is known to the database."


def test_one_live_worker_of_several_is_enough(context: Context) -> None:
    beat(context, "here", seconds_ago=100)
    commands.beat(context.engine, name="here:2", host="here", pid=2, run_id=None)
    assert health.complaint(context.engine, "here") is None


def test_exit_code_tells(context: Context, capsys: pytest.CaptureFixture[str]) -> None:
    assert health.main() == 1
    beat(context, socket.gethostname())
    assert health.main() == 0
    assert capsys.readouterr().err.count("\n") == 1


def test_an_unreachable_database_is_one_sentence(home: object, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("GANBOARD_DATABASE_URL", "postgresql://nobody@127.0.0.1:1/nothing")
    assert health.main() == 1
    assert capsys.readouterr().err.count("\n") == 1
