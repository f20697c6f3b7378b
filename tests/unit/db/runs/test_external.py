"""Runs that scripts train: reports in any order and number, leases, and what no worker may do."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import numpy as np
import pytest
from sqlalchemy import Engine, update
from sqlmodel import col

from ganboard.db import stats
from ganboard.db.clock import now
from ganboard.db.curves import logged, series
from ganboard.db.engine import writing
from ganboard.db.errors import NotAllowed, UnknownRun
from ganboard.db.models import Run
from ganboard.db.runs import commands, expiry, external, past_runs, queries
from ganboard.db.runs.external import End, Happening, Logged

ID = "mineown234"
NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


def start(engine: Engine, **changes: Any) -> None:
    given = {"name": "mine", "config": {"lr": 0.1}, "host": "box", "hardware": {}} | changes
    external.create(engine, run_id=ID, **given)


def values(steps: list[int], numbers: list[float]) -> Logged:
    return Logged(np.array(steps, float), np.array(steps) + NOON.timestamp(), np.array(numbers))


def report(engine: Engine, number: int, **parts: Any) -> bool:
    given = {"seconds": 1.0, "logged": {}} | parts
    return external.expects(engine, run_id=ID, number=number) and external.add_report(
        engine, run_id=ID, number=number, **given
    )


def stored(engine: Engine) -> Run:
    run = queries.get_run(engine, ID)
    assert run is not None
    return run


def expire(engine: Engine) -> None:
    with writing(engine) as session:
        session.execute(update(Run).where(col(Run.id) == ID).values(lease_until=now(-1)))


def test_a_script_starts_reports_and_ends_its_run(engine: Engine) -> None:
    start(engine)
    start(engine)  # repeated: nothing happens
    losses = {"g_loss": values([1, 2], [0.5, np.nan]), "d_loss": values([1, 2], [1.5, np.inf])}
    report(engine, 1, logged={**losses, "psnr": values([2], [30.25])})
    run = stored(engine)
    assert (run.status, run.step, run.external, run.attempt) == ("running", 2, True, 1)
    assert run.g_loss is not None
    assert np.isnan(run.g_loss)
    assert run.d_loss == np.inf
    assert logged.names(engine, ID) == ["d_loss", "g_loss", "psnr"]
    assert logged.latest(engine, ID)["psnr"] == 30.25
    report(engine, 2, end=End("failed", "Out of memory.", NOON))
    run = stored(engine)
    assert (run.status, run.error, run.ended_at) == ("failed", "Out of memory.", NOON)


def test_a_repeated_report_changes_nothing(engine: Engine) -> None:
    start(engine)
    said = [Happening(NOON, "warning", "loss spike")]
    for _ in range(3):
        report(engine, 1, logged={"loss": values([1], [0.5])}, happenings=said)
    assert [event.text for event in queries.events(engine, ID)].count("loss spike") == 1
    assert list(logged.rows(engine, ID)) == [("loss", 1, NOON.timestamp() + 1, 0.5)]


def test_steps_in_any_order_and_far_apart_are_sorted_and_replaced(engine: Engine) -> None:
    start(engine)
    far = external.MAX_STEP
    report(engine, 1, logged={"loss": values([far, 5, 3], [9.0, 5.0, 3.0])})
    report(engine, 2, logged={"loss": values([4, 5], [4.0, -5.0])})
    assert [row[1::2] for row in logged.rows(engine, ID)] == [
        (3, 3.0),
        (4, 4.0),
        (5, -5.0),
        (far, 9.0),
    ]


def test_losses_of_both_nets_are_drawn_as_those_of_other_runs(engine: Engine) -> None:
    start(engine, steps_per_epoch=4)
    parts = {"d_loss": values([1, 2, 3, 4], [1.0, 2.0, 3.0, 4.0]), "g_loss": values([2, 4], [7, 8])}
    report(engine, 1, logged=parts)
    frame = series.step_losses(engine, ID)
    assert frame["step"].tolist() == [1, 2, 3, 4]
    assert frame["g_loss"].tolist() == [7, 7, 7, 8]  # the latest that there was
    assert frame["epoch"].tolist() == [0.25, 0.5, 0.75, 1.0]


def test_a_run_with_one_loss_has_no_pair_of_curves(engine: Engine) -> None:
    start(engine)
    report(engine, 1, logged={"loss": values([1, 2], [1.0, 0.5])})
    assert series.step_losses(engine, ID).empty
    assert logged.frame(engine, ID, "loss")["value"].tolist() == [1.0, 0.5]
    assert np.isnan(logged.frame(engine, ID, "loss")["epoch"]).all()


def test_a_dead_script_has_failed_and_continues_when_it_reports_again(engine: Engine) -> None:
    start(engine)
    expire(engine)
    assert commands.claim(engine, run_id=ID, worker="w") is None
    assert expiry.expire_leases(engine) == [ID]
    run = stored(engine)
    assert run.status == "failed"
    assert "process ended" in (run.error or "")
    assert commands.claim(engine, run_id=ID, worker="w") is None
    report(engine, 1, logged={"loss": values([1], [1.0])})
    run = stored(engine)
    assert (run.status, run.error, run.ended_at) == ("running", None, None)


def test_any_configuration_can_be_counted(engine: Engine) -> None:
    start(engine, config={"batch_size": "large"})
    report(engine, 1, logged={"loss": values([7], [1.0])})
    assert stats.take(engine).runs["running"] == 1
    assert past_runs.measured_runs(engine) == []


def test_missing_reports_are_noted(engine: Engine) -> None:
    start(engine)
    report(engine, 4)
    assert "Reports 1 to 3 of the script are missing." in [
        event.text for event in queries.events(engine, ID)
    ]


def test_a_stop_is_answered_and_a_resume_refused(engine: Engine) -> None:
    start(engine)
    assert not report(engine, 1)
    commands.request_stop(engine, run_id=ID)
    assert report(engine, 2)
    report(engine, 3, end=End("stopped"))
    with pytest.raises(NotAllowed, match="started by a script"):
        commands.resume(engine, run_id=ID)


def test_runs_of_workers_take_no_reports(engine: Engine) -> None:
    own = commands.create_run(engine, name="ours", config={})
    with pytest.raises(NotAllowed, match="trained by ganboard"):
        external.expects(engine, run_id=own.id, number=1)
    with pytest.raises(NotAllowed, match="trained by ganboard"):
        external.create(engine, run_id=own.id, name="x", config={}, host="h", hardware={})
    with pytest.raises(UnknownRun):
        external.expects(engine, run_id="nobody2345", number=1)
