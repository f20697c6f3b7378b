"""What rules find: each once, nothing from before they existed, nothing missed meanwhile."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pytest
from sqlalchemy import Engine, update
from sqlmodel import col

from ganboard.db.alerts import channels, deliveries, rules
from ganboard.db.engine import writing
from ganboard.db.models import AlertRule, Event, Run, SystemSample
from ganboard.db.runs import annotations, commands, external, reports
from ganboard.gan.events import Quality
from ganboard.gan.presets import load
from ganboard.gan.training.guards.monitors import Monitors
from ganboard.gan.training.guards.non_finite import NotFinite, not_finite
from ganboard.worker.alerts.detection import Detector
from ganboard.worker.context import Context
from tests.unit.db.stored_runs import finish_epoch, in_status, quality, steps, submitted, training

AddRule = Callable[..., AlertRule]


@pytest.fixture
def add_rule(anywhere: Context) -> AddRule:
    """A rule of a channel of the test's own."""
    channel = channels.add(
        anywhere.engine, name="lab", kind="slack", masked="m", options={}, secret="s"
    )

    def add(event: str, **values: Any) -> AlertRule:
        return rules.add(anywhere.engine, channel_id=channel.id, event=event, **values)

    return add


def found(context: Context) -> list[tuple[str | None, str, str]]:
    """Run, event and reason of what is stored, the oldest first."""
    return [
        (one.run_id, one.message["event"], one.message["reason"])
        for one in deliveries.latest(context.engine, limit=999)[::-1]
    ]


def ended(engine: Engine, status: str, **config: Any) -> str:
    own = training(engine, submitted(engine, **config))
    error = "It broke." if status == "failed" else None
    commands.finish(engine, **own, status=status, error=error)
    return str(own["run_id"])


def test_without_rules_nothing_is_found(anywhere: Context) -> None:
    in_status(anywhere.engine, "failed")
    assert Detector(anywhere).round() == 0


@pytest.mark.parametrize("status", ["failed", "finished"])
def test_a_run_that_ends_so_is_found_once(
    anywhere: Context, add_rule: AddRule, status: str
) -> None:
    engine = anywhere.engine
    in_status(engine, status)  # before the rule
    add_rule(status)
    for other in ("stopped", "suspended", "queued", "starting", "running"):
        in_status(engine, other)
    in_status(engine, "finished" if status == "failed" else "failed")
    detector = Detector(anywhere)
    assert detector.round() == 0
    run_id = in_status(engine, status)
    assert detector.round() == 1
    assert detector.round() == 0
    assert found(anywhere) == [(run_id, status, "It broke." if status == "failed" else "")]


def test_what_happened_while_nobody_looked_is_found_by_whoever_comes_next(
    anywhere: Context, add_rule: AddRule
) -> None:
    add_rule("failed")
    first = ended(anywhere.engine, "failed")
    assert Detector(anywhere).round() == 1
    second = ended(anywhere.engine, "failed")
    assert Detector(anywhere).round() == 1  # another process, which read the first one again
    assert [run for run, *_ in found(anywhere)] == [first, second]


def test_a_run_that_fails_again_is_found_again(anywhere: Context, add_rule: AddRule) -> None:
    add_rule("failed")
    run_id = ended(anywhere.engine, "failed")
    detector = Detector(anywhere)
    detector.round()
    commands.resume(anywhere.engine, run_id=run_id)
    assert detector.round() == 0
    own = training(anywhere.engine, run_id)
    commands.finish(anywhere.engine, **own, status="failed", error="Again.")
    assert detector.round() == 1
    assert [reason for *_, reason in found(anywhere)] == ["It broke.", "Again."]


def test_an_old_run_that_is_touched_is_not_news(anywhere: Context, add_rule: AddRule) -> None:
    run_id = ended(anywhere.engine, "failed")
    add_rule("failed")
    add_rule("metric", condition="step>=0")
    annotations.add_tags(anywhere.engine, run_ids=[run_id], tags=["x"])
    assert Detector(anywhere).round() == 0


def test_an_event_that_is_committed_late_is_not_missed(
    anywhere: Context, add_rule: AddRule
) -> None:
    """PostgreSQL numbers events before they are committed."""
    add_rule("collapse")
    run_id = training(anywhere.engine)["run_id"]
    with writing(anywhere.engine) as session:
        session.add(Event(id=1000, run_id=run_id, attempt=1, level="info", text="Tagged: x."))
    detector = Detector(anywhere)
    assert detector.round() == 0
    with writing(anywhere.engine) as session:
        text = "Mode collapse: late."
        session.add(Event(id=900, run_id=run_id, attempt=1, level="warning", text=text))
    assert detector.round() == 1
    assert Detector(anywhere).round() == 0


def test_a_search_selects_the_runs(anywhere: Context, add_rule: AddRule) -> None:
    add_rule("failed", search="batch_size>=128 -tag:quiet")
    quiet = submitted(anywhere.engine, batch_size=256)
    annotations.add_tags(anywhere.engine, run_ids=[quiet], tags=["quiet"])
    own = training(anywhere.engine, quiet)
    commands.finish(anywhere.engine, **own, status="failed", error="Quiet.")
    ended(anywhere.engine, "failed", batch_size=64)
    loud = ended(anywhere.engine, "failed", batch_size=128)
    Detector(anywhere).round()
    assert [run for run, *_ in found(anywhere)] == [loud]


def test_a_metric_is_found_while_the_run_trains_and_when_it_has_ended(
    anywhere: Context, add_rule: AddRule
) -> None:
    engine = anywhere.engine
    rule = add_rule("metric", condition="fid<5")
    own, late = training(engine), training(engine)
    for one in (own, late):
        finish_epoch(engine, one, 1)
        quality(engine, one, 1, fid=9.0)
    detector = Detector(anywhere)
    assert detector.round() == 0
    finish_epoch(engine, own, 2)
    quality(engine, own, 2, fid=4.25)
    assert detector.round() == 1
    assert detector.round() == Detector(anywhere).round() == 0
    finish_epoch(engine, late, 2)
    quality(engine, late, 2, fid=1.5)
    commands.finish(engine, **late, status="finished")
    assert detector.round() == 1
    assert found(anywhere) == [
        (own["run_id"], "metric", "fid<5 holds: fid is 4.25."),
        (late["run_id"], "metric", "fid<5 holds: fid is 1.5."),
    ]
    channel_id = rule.channel_id
    rules.change(engine, rule.id, channel_id=channel_id, event="metric", condition="fid<4.5")
    assert detector.round() == 1  # another condition; the other run ended before


def test_collapse_and_values_that_are_not_finite_are_known_by_what_the_trainer_says(
    anywhere: Context, add_rule: AddRule
) -> None:
    """The notes are those of the monitors themselves."""
    engine = anywhere.engine
    config = load("tiny").model_copy(update={"grid_size": 4})
    monitors = Monitors(config, 4, np.zeros((4, 8, 8, 1), np.uint8))
    monitors._has_grown = True
    notes = [
        note
        for epoch in (1, 2)
        for note in monitors.evaluated(
            Quality(epoch, 1.0, 1.0, {"diversity": 0.1}, (0.9, 0.1)), (0.5, 0.5)
        )
    ]
    (collapse,) = notes
    bad = not_finite(config, 4, NotFinite("generator", "loss", 3), back_to=0)
    add_rule("collapse")
    add_rule("nan")
    own = training(engine)
    for level, text in (("warning", collapse.text), ("error", bad), ("info", "Tagged: x.")):
        reports.add_event(engine, **own, level=level, text=text)
    detector = Detector(anywhere)
    assert detector.round() == 2
    assert detector.round() == 0
    assert sorted(found(anywhere)) == sorted(
        [(own["run_id"], "collapse", collapse.text), (own["run_id"], "nan", bad)]
    )


def test_a_script_that_logs_a_loss_that_is_no_number_is_found(
    anywhere: Context, add_rule: AddRule
) -> None:
    engine = anywhere.engine
    add_rule("nan")
    external.create(engine, run_id="script2345", name="s", config={}, host="h", hardware={})
    detector = Detector(anywhere)
    assert detector.round() == 0
    values = external.Logged(np.array([1.0]), np.array([1.5e9]), np.array([np.nan]))
    external.add_report(
        engine, run_id="script2345", number=1, seconds=1.0, logged={"d_loss": values}
    )
    assert detector.round() == 1
    assert found(anywhere) == [("script2345", "nan", "The latest D loss is not finite.")]


def test_no_progress_is_found_once_per_pause(anywhere: Context, add_rule: AddRule) -> None:
    engine = anywhere.engine
    add_rule("no_progress", minutes=10)
    own = training(engine)
    in_status(engine, "queued")
    detector = Detector(anywhere)
    assert detector.round() == 0

    def wait(minutes: float) -> None:
        past = datetime.now(UTC) - timedelta(minutes=minutes)
        with writing(engine) as session:
            session.execute(
                update(Run).where(col(Run.id) == own["run_id"]).values(progress_at=past)
            )

    wait(9)
    assert detector.round() == 0
    wait(11)
    assert detector.round() == 1
    assert detector.round() == Detector(anywhere).round() == 0
    steps(engine, own, 1, 0, [0.5])
    assert detector.round() == 0
    wait(12)
    assert detector.round() == 1
    commands.renew(engine, **own)  # a heartbeat is no progress
    assert detector.round() == 0
    wait(13)
    commands.finish(engine, **own, status="stopped")
    assert detector.round() == 0
    assert {reason for *_, reason in found(anywhere)} == {
        "No step and no other progress for 10 min."
    }


@pytest.mark.parametrize(
    "report",
    [
        lambda engine, own: steps(engine, own, 1, 0, [0.5]),
        lambda engine, own: reports.set_phase(engine, **own, phase="evaluating"),
        lambda engine, own: reports.set_phase_progress(engine, **own, text="1 %"),
    ],
    ids=["step", "phase", "progress of a phase"],
)
def test_what_counts_as_progress(
    anywhere: Context, add_rule: AddRule, report: Callable[[Engine, Any], None]
) -> None:
    engine = anywhere.engine
    add_rule("no_progress", minutes=10)
    own = training(engine)
    with writing(engine) as session:
        session.execute(update(Run).values(progress_at=datetime.now(UTC) - timedelta(hours=1)))
    report(engine, own)
    assert Detector(anywhere).round() == 0


def test_of_a_script_only_what_it_logs_counts_as_progress(
    anywhere: Context, add_rule: AddRule
) -> None:
    engine = anywhere.engine
    add_rule("no_progress", minutes=10)
    external.create(engine, run_id="script2345", name="s", config={}, host="h", hardware={})
    used = SystemSample(
        run_id="script2345", attempt=1, cpu_percent=1.0, rss_bytes=1.0, memory_percent=1.0
    )
    values = external.Logged(np.array([1.0]), np.array([1.5e9]), np.array([0.5]))
    detector = Detector(anywhere)
    for number, (logged, new) in enumerate([({}, 1), ({"loss": values}, 0)], 1):
        with writing(engine) as session:
            session.execute(update(Run).values(progress_at=datetime.now(UTC) - timedelta(hours=1)))
        external.add_report(
            engine, run_id="script2345", number=number, seconds=1.0, logged=logged, rows=[used]
        )
        assert detector.round() == new


def test_rules_and_channels_that_are_off_find_nothing(anywhere: Context, add_rule: AddRule) -> None:
    rule = add_rule("failed")
    detector = Detector(anywhere)
    for switch, which in ((rules.switch, rule.id), (channels.switch, rule.channel_id)):
        switch(anywhere.engine, which, on=False)  # type: ignore[operator]
        ended(anywhere.engine, "failed")
        assert detector.round() == 0
        switch(anywhere.engine, which, on=True)  # type: ignore[operator]
        assert detector.round() == 0
    ended(anywhere.engine, "failed")
    assert detector.round() == 1


def test_a_rule_that_cannot_be_read_any_more_stops_no_other(
    anywhere: Context, add_rule: AddRule, caplog: pytest.LogCaptureFixture
) -> None:
    add_rule("failed", search="setting_of_a_model_that_is_gone=1")
    add_rule("failed")
    ended(anywhere.engine, "failed")
    detector = Detector(anywhere)
    assert detector.round() == 1
    ended(anywhere.engine, "failed")
    assert detector.round() == 1
    assert caplog.text.count("cannot be evaluated") == 1


def test_a_long_history_is_read_in_parts(
    anywhere: Context, add_rule: AddRule, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ganboard.worker.alerts.detection.OVERLAP", 3)
    monkeypatch.setattr("ganboard.worker.alerts.detection.READ", 7)
    add_rule("failed")
    for _ in range(5):
        ended(anywhere.engine, "failed")
    detector = Detector(anywhere)
    assert sum(detector.round() for _ in range(20)) == 5


def test_what_is_stored_has_only_what_is_documented(anywhere: Context, add_rule: AddRule) -> None:
    add_rule("failed")
    own = training(anywhere.engine, submitted(anywhere.engine, "a\u202eb", secret="hidden"))
    steps(anywhere.engine, own, 1, 0, [0.5], [float("nan")])
    reports.add_facts(anywhere.engine, **own, values={"secret": "hidden"})
    commands.finish(anywhere.engine, **own, status="failed", error="x" * 2000)
    Detector(anywhere).round()
    message = deliveries.latest(anywhere.engine, limit=1)[0].message
    assert set(message) == {
        "event", "run", "name", "status", "reason", "epoch", "epochs", "step", "metrics", "at",
    }  # fmt: skip
    assert message["metrics"] == {"g_loss": 0.5}  # NaN is no JSON
    assert len(message["reason"]) == 600
    assert "hidden" not in str(message)
