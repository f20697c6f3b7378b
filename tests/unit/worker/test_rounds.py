"""Rounds: at once while there is work, more slowly while the database is away, with a heartbeat."""

from __future__ import annotations

import threading

import pytest
from sqlalchemy.exc import OperationalError

from ganboard.db import heartbeats
from ganboard.db.models import CLAIMS
from ganboard.worker import rounds
from ganboard.worker.context import Context

MOST_SECONDS = 30


def test_it_goes_on_when_the_database_does(
    context: Context, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(rounds, "POLL_SECONDS", 0.01)
    ended, alive = threading.Event(), []
    tried = 0

    def take() -> int:
        nonlocal tried
        tried += 1
        if tried < 4:
            raise OperationalError("SELECT 1", {}, Exception("away"))
        alive.extend(heartbeats.claim_runners(context.engine))
        ended.set()
        return 0

    rounds.serve(context, CLAIMS, take, ended)
    assert tried == 4
    assert [one.alive for one in alive] == [True]
    assert heartbeats.claim_runners(context.engine) == []
    assert caplog.text.count("The database is unavailable: ") == 1


def test_there_is_no_pause_while_there_is_work(
    context: Context, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rounds, "POLL_SECONDS", 10 * MOST_SECONDS)
    ended, left = threading.Event(), [3, 2, 1]

    def take() -> int:
        if len(left) == 1:
            ended.set()
        return left.pop()

    thread = threading.Thread(target=rounds.serve, args=(context, CLAIMS, take, ended))
    thread.start()
    thread.join(MOST_SECONDS)
    assert not thread.is_alive()
    assert left == []
