"""Who owns a run: claims from many processes at once, leases on the database's clock, and the
budget of failures."""

from __future__ import annotations

import time
from datetime import datetime, timedelta, tzinfo

import pytest
from sqlalchemy import Engine

from ganboard.db import heartbeats, models
from ganboard.db.engine import make_engine
from ganboard.db.placement import backlog
from ganboard.db.runs import commands, expiry, queries
from ganboard.db.runs.commands import MAX_FAILURES
from tests.unit.db.stored_runs import (
    IN_FORK,
    claimed,
    finish_epoch,
    stored,
    submitted,
    texts,
    training,
)

PROCESSES, RUNS = 4, 200


def test_a_lease_that_ran_out_may_be_taken_over(engine: Engine) -> None:
    own = training(engine, lease_seconds=-1)
    claim = commands.claim(engine, run_id=own["run_id"], worker="w-2")
    assert claim is not None
    run = stored(engine, own["run_id"])
    assert (run.attempt, run.worker, run.failures, run.status) == (2, "w-2", 1, "starting")


def test_a_takeover_counts_as_a_failure_so_that_a_deadly_run_ends(engine: Engine) -> None:
    run_id = submitted(engine)
    for _ in range(MAX_FAILURES):
        claimed(engine, run_id, lease_seconds=-1)
    assert commands.claim(engine, run_id=run_id, worker="w") is None
    assert expiry.expire_leases(engine) == [run_id]
    assert (stored(engine, run_id).status, stored(engine, run_id).attempt) == (
        "failed",
        MAX_FAILURES,
    )


def test_only_dead_leases_expire(engine: Engine) -> None:
    alive, dead, waiting = training(engine), training(engine, lease_seconds=-1), submitted(engine)
    assert expiry.expire_leases(engine) == [dead["run_id"]]
    assert expiry.expire_leases(engine) == []
    run = stored(engine, dead["run_id"])
    assert (run.status, run.worker, run.lease_until, run.phase, run.failures) == (
        "queued",
        None,
        None,
        None,
        1,
    )
    assert (
        "The lease of attempt 1 expired without a heartbeat. Resuming from the latest checkpoint."
        in texts(engine, run.id)
    )
    assert [stored(engine, run_id).status for run_id in (alive["run_id"], waiting)] == [
        "running",
        "queued",
    ]


@pytest.mark.parametrize("hours", [-1, 1])
def test_the_clock_of_the_client_does_not_matter(
    engine: Engine, monkeypatch: pytest.MonkeyPatch, hours: int
) -> None:
    alive, dead = training(engine), training(engine, lease_seconds=-1)
    real, skew = time.time, timedelta(hours=hours)

    class Skewed(datetime):
        @classmethod
        def now(cls, tz: tzinfo | None = None) -> Skewed:
            return cls.fromtimestamp(real(), tz) + skew

    monkeypatch.setattr(time, "time", lambda: real() + skew.total_seconds())
    monkeypatch.setattr(models, "datetime", Skewed)
    assert abs((models.utc_now() - queries.database_time(engine)).total_seconds()) > 3500

    assert commands.claim(engine, run_id=alive["run_id"], worker="w-2") is None
    assert expiry.expire_leases(engine) == [dead["run_id"]]
    commands.renew(engine, **alive, lease_seconds=50)
    another = claimed(engine, lease_seconds=50)
    for own in (alive, another):
        lease = stored(engine, own["run_id"]).lease_until
        assert lease is not None
        assert 0 < (lease - queries.database_time(engine)).total_seconds() <= 50
    fresh = submitted(engine)
    assert {run.id for run in backlog.waiting_runs(engine)} == {fresh, dead["run_id"]}
    assert backlog.waiting_runs(engine, for_seconds=60) == []
    heartbeats.record(engine, name="w", host="box", pid=1, run_id=None)
    assert heartbeats.workers(engine)[0].alive


def test_a_death_is_forgiven_and_reported(engine: Engine) -> None:
    own = training(engine)
    assert expiry.died(engine, **own, cause="The trainer was killed by SIGKILL") == "queued"
    run = stored(engine, own["run_id"])
    assert (run.status, run.failures, run.worker, run.lease_until, run.phase) == (
        "queued",
        1,
        None,
        None,
        None,
    )
    assert (
        texts(engine, run.id)[-1]
        == "The trainer was killed by SIGKILL. Resuming from the latest checkpoint."
    )


def test_deaths_in_a_row_end_the_run(engine: Engine) -> None:
    run_id = submitted(engine)
    outcomes = [
        expiry.died(engine, **training(engine, run_id), cause="Killed") for _ in range(MAX_FAILURES)
    ]
    assert outcomes == ["queued"] * (MAX_FAILURES - 1) + ["failed"]
    run = stored(engine, run_id)
    assert run.ended_at is not None
    assert (
        run.error
        == f"Killed; {MAX_FAILURES} times in a row without finishing an epoch. Check the log,"
        " then resume."
    )
    assert texts(engine, run_id)[-1] == "Killed. Giving up."
    assert commands.resume(engine, run_id=run_id).failures == 0


def test_a_finished_epoch_wipes_the_slate(engine: Engine) -> None:
    run_id = submitted(engine)
    for epoch in range(1, 2 * MAX_FAILURES):
        own = training(engine, run_id)
        finish_epoch(engine, own, epoch)
        assert expiry.died(engine, **own, cause="Killed") == "queued"
        assert stored(engine, run_id).failures == 1


def test_a_run_that_dies_after_its_stop_was_requested_is_stopped(engine: Engine) -> None:
    asked, silent = training(engine), training(engine, lease_seconds=-1)
    for own in (asked, silent):
        commands.request_stop(engine, run_id=own["run_id"])
        assert commands.claim(engine, run_id=own["run_id"], worker="w-2") is None
    assert expiry.died(engine, **asked, cause="Killed") == "stopped"
    assert expiry.expire_leases(engine) == [silent["run_id"]]
    for own in (asked, silent):
        run = stored(engine, own["run_id"])
        assert (run.status, run.worker) == ("stopped", None)
        assert run.ended_at is not None
        assert texts(engine, run.id)[-1].endswith("Stopped as requested.")


def _claim_all(url: str, run_ids: list[str], worker: str, start: float) -> list[str]:
    engine = make_engine(url)
    while time.monotonic() < start:  # all at the same moment
        pass
    won = [
        run_id
        for run_id in run_ids
        if commands.claim(engine, run_id=run_id, worker=worker) is not None
    ]
    engine.dispose()
    return won


def test_of_many_claims_at_once_exactly_one_wins(engine: Engine, url: str) -> None:
    run_ids = [submitted(engine) for _ in range(RUNS)]
    engine.dispose()
    with IN_FORK.Pool(PROCESSES) as pool:
        start = time.monotonic() + 0.2
        won = pool.starmap(
            _claim_all, [(url, run_ids, f"w-{i}", start) for i in range(PROCESSES)], chunksize=1
        )
    assert sorted(run_id for wins in won for run_id in wins) == sorted(run_ids)
    for i, wins in enumerate(won):
        assert {run.id for run in queries.active_runs_of(engine, f"w-{i}")} == set(wins)
    assert {run.attempt for run in queries.list_runs(engine)} == {1}


def _expire(url: str, start: float) -> list[str]:
    engine = make_engine(url)
    while time.monotonic() < start:
        pass
    found = expiry.expire_leases(engine)
    engine.dispose()
    return found


def test_of_many_reconcilers_at_once_each_death_is_counted_once(engine: Engine, url: str) -> None:
    run_ids = [claimed(engine, lease_seconds=-1)["run_id"] for _ in range(20)]
    engine.dispose()
    with IN_FORK.Pool(PROCESSES) as pool:
        found = pool.starmap(_expire, [(url, time.monotonic() + 0.1)] * PROCESSES, chunksize=1)
    assert sorted(run_id for ids in found for run_id in ids) == sorted(run_ids)
    assert {(run.status, run.failures) for run in queries.list_runs(engine)} == {("queued", 1)}
