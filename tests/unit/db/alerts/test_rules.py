"""Rules: about what happens from now on."""

from __future__ import annotations

import pytest
from sqlalchemy import Engine

from ganboard.db.alerts import channels, deliveries, rules
from ganboard.db.errors import BadAlert, UnknownAlert
from ganboard.db.models import AlertChannel
from ganboard.db.runs import notifications
from tests.unit.db.stored_runs import submitted


@pytest.fixture
def channel(engine: Engine) -> AlertChannel:
    return channels.add(engine, name="lab", kind="slack", masked="m", options={}, secret="s")


def test_a_rule_begins_with_the_newest_event(engine: Engine, channel: AlertChannel) -> None:
    submitted(engine)
    newest = notifications.newest_event(engine)
    assert newest
    rule = rules.add(
        engine, channel_id=channel.id, event=rules.METRIC, condition="fid<5", search="tag:x"
    )
    assert (rule.since_event, rule.seen_event) == (newest, newest)
    assert rules.find(engine, rule.id) == rule == rules.in_force(engine)[0]


def test_a_changed_rule_begins_anew(engine: Engine, channel: AlertChannel) -> None:
    rule = rules.add(engine, channel_id=channel.id, event=rules.FAILED)
    submitted(engine)
    changed = rules.change(
        engine, rule.id, channel_id=channel.id, event=rules.NO_PROGRESS, minutes=5
    )
    assert (changed.event, changed.minutes, changed.condition) == (rules.NO_PROGRESS, 5, "")
    assert changed.since_event == notifications.newest_event(engine) > rule.since_event
    assert changed.since > rule.since


def test_switching_off_cancels_what_waits_and_on_begins_anew(
    engine: Engine, channel: AlertChannel
) -> None:
    rule = rules.add(engine, channel_id=channel.id, event=rules.FAILED)
    kept = rules.add(engine, channel_id=channel.id, event=rules.FINISHED)
    run_id = submitted(engine)
    found = [deliveries.Found(one, run_id, "once", {}) for one in (rule, kept)]
    deliveries.record(engine, found, rule_ids=[rule.id, kept.id], seen=0)
    rules.switch(engine, rule.id, on=False)
    assert [one.id for one in rules.in_force(engine)] == [kept.id]
    submitted(engine)
    rules.switch(engine, rule.id, on=True)
    again = rules.find(engine, rule.id)
    assert again.since_event == notifications.newest_event(engine)
    states = {one.rule_id: one.state for one in deliveries.latest(engine, limit=9)}
    assert states == {rule.id: deliveries.CANCELLED, kept.id: deliveries.WAITING}
    rules.switch(engine, rule.id, on=True)  # as it is
    assert rules.find(engine, rule.id) == again


def test_a_removed_rule_is_unknown(engine: Engine, channel: AlertChannel) -> None:
    rule = rules.add(engine, channel_id=channel.id, event=rules.FAILED)
    rules.remove(engine, rule.id)
    for call in (
        lambda: rules.find(engine, rule.id),
        lambda: rules.remove(engine, rule.id),
        lambda: rules.switch(engine, rule.id, on=True),
        lambda: rules.change(engine, rule.id, channel_id=channel.id, event=rules.FAILED),
    ):
        with pytest.raises(UnknownAlert):
            call()


def test_the_number_of_rules_is_limited(
    engine: Engine, channel: AlertChannel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rules, "RULES", 1)
    rules.add(engine, channel_id=channel.id, event=rules.FAILED)
    with pytest.raises(BadAlert, match="already 1 rules"):
        rules.add(engine, channel_id=channel.id, event=rules.FAILED)
