"""Deliveries: stored once, claimed by one sender, tried again after pauses, limited, summed up."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import Engine, update
from sqlmodel import select

from ganboard.db.alerts import channels, deliveries, rules
from ganboard.db.alerts.deliveries import Claim, Found
from ganboard.db.engine import make_engine, writing
from ganboard.db.models import AlertChannel, AlertDelivery, AlertRule, Run
from ganboard.db.runs import commands, queries


@pytest.fixture
def rule(engine: Engine) -> AlertRule:
    channel = channels.add(engine, name="lab", kind="slack", masked="m", options={}, secret="s")
    return rules.add(engine, channel_id=channel.id, event=rules.FAILED)


def stored(engine: Engine, rule: AlertRule, count: int, *, first: int = 0) -> int:
    found = [
        Found(rule, f"run{number:04d}", "once", {"name": f"run {number}"})
        for number in range(first, first + count)
    ]
    with writing(engine) as session:
        for one in found:
            session.merge(Run(id=one.run_id, name=one.message["name"], config={}))
    added = 0
    for one in found:  # one by one, so that their times differ
        added += deliveries.record(engine, [one], rule_ids=[rule.id], seen=0)
    return added


def taken(engine: Engine) -> Claim:
    claimed = deliveries.claim(engine)
    assert claimed is not None
    return claimed


def states(engine: Engine) -> list[str]:
    """The oldest first."""
    return [one.state for one in deliveries.latest(engine, limit=999)][::-1]


def later(engine: Engine, seconds: float) -> None:
    """Let time pass: move the times of all deliveries into the past."""
    past = timedelta(seconds=seconds)
    with writing(engine) as session:
        for one in session.exec(select(AlertDelivery)):
            for name in ("created_at", "next_try_at", "claimed_until", "tried_at", "sent_at"):
                if (moment := getattr(one, name)) is not None:
                    setattr(one, name, moment - past)


def test_what_is_found_again_is_stored_once(engine: Engine, rule: AlertRule) -> None:
    assert stored(engine, rule, 2) == 2
    assert stored(engine, rule, 3) == 1
    other = Found(rule, "run0000", "again", {})
    assert deliveries.record(engine, [other, other], rule_ids=[rule.id], seen=7) == 1
    assert rules.find(engine, rule.id).seen_event == 7
    deliveries.record(engine, [], rule_ids=[rule.id], seen=5)
    assert rules.find(engine, rule.id).seen_event == 7


def test_of_a_removed_rule_nothing_is_stored(engine: Engine, rule: AlertRule) -> None:
    rules.remove(engine, rule.id)
    assert stored(engine, rule, 1) == 0


def test_a_claim_is_sent_once(engine: Engine, rule: AlertRule) -> None:
    stored(engine, rule, 1)
    claimed = taken(engine)
    assert [one.run_id for one in claimed.alerts] == ["run0000"]
    assert claimed.channel.name == "lab"
    assert deliveries.claim(engine) is None
    assert deliveries.sent(engine, claimed)
    assert not deliveries.sent(engine, claimed)
    assert not deliveries.failed(engine, claimed, "late")
    assert not deliveries.refused(engine, claimed, "late")
    assert deliveries.claim(engine) is None
    assert states(engine) == [deliveries.SENT]
    assert deliveries.latest(engine, limit=1)[0].sent_at is not None


def test_a_channel_sends_one_message_at_a_time_and_others_meanwhile(
    engine: Engine, rule: AlertRule
) -> None:
    other = channels.add(engine, name="other", kind="slack", masked="m", options={}, secret="s")
    beside = rules.add(engine, channel_id=other.id, event=rules.FAILED)
    stored(engine, rule, 2)
    stored(engine, beside, 1)
    names = {taken(engine).channel.name, taken(engine).channel.name}
    assert names == {"lab", "other"}
    assert deliveries.claim(engine) is None


def test_two_senders_never_get_the_same(url: str, engine: Engine, rule: AlertRule) -> None:
    stored(engine, rule, 9)
    start = threading.Barrier(4)
    got: list[str] = []

    def sender() -> None:
        own = make_engine(url)
        start.wait()
        for _ in range(40):
            if claimed := deliveries.claim(own):
                got.extend(one.id for one in claimed.alerts)
                assert deliveries.sent(own, claimed)
        own.dispose()

    with ThreadPoolExecutor(4) as pool:
        for done in [pool.submit(sender) for _ in range(4)]:
            done.result()
    assert len(got) == len(set(got)) == 9
    assert states(engine) == [deliveries.SENT] * 9


def test_the_claim_of_a_sender_that_died_is_taken_again(engine: Engine, rule: AlertRule) -> None:
    stored(engine, rule, 1)
    first = taken(engine)
    later(engine, deliveries.CLAIM_SECONDS + 1)
    second = taken(engine)
    assert [one.id for one in second.alerts] == [one.id for one in first.alerts]
    assert not deliveries.sent(engine, first)
    assert deliveries.sent(engine, second)


def test_a_channel_that_does_not_answer_delays_all_and_longer_each_time(
    engine: Engine, rule: AlertRule
) -> None:
    stored(engine, rule, 2)
    pauses = []
    for _ in range(4):
        assert deliveries.failed(engine, taken(engine), "No answer.")
        assert deliveries.claim(engine) is None
        present = queries.database_time(engine)
        waiting = deliveries.latest(engine, limit=9)
        assert {one.error for one in waiting} == {"No answer."}
        assert abs(waiting[0].next_try_at - waiting[1].next_try_at) < timedelta(seconds=1)
        pauses.append(round((waiting[0].next_try_at - present).total_seconds()))
        later(engine, 4000)
    assert pauses == [15, 30, 60, 120]
    later(engine, 4000)
    deliveries.failed(engine, taken(engine), "429", pause=900.0)
    present = queries.database_time(engine)
    next_try = deliveries.latest(engine, limit=1)[0].next_try_at
    assert round((next_try - present).total_seconds()) == 900


def test_a_channel_that_asks_for_a_pause_gets_nothing_new_meanwhile(
    engine: Engine, rule: AlertRule
) -> None:
    stored(engine, rule, 1)
    deliveries.failed(engine, taken(engine), "429", pause=30.0)
    stored(engine, rule, 2)
    assert deliveries.claim(engine) is None
    with writing(engine) as session:
        session.execute(update(AlertChannel).values(paused_until=datetime.now(UTC)))
    assert taken(engine).alerts[0].run_id == "run0001"


def test_a_message_that_arrives_makes_the_others_due(engine: Engine, rule: AlertRule) -> None:
    stored(engine, rule, 1)
    deliveries.failed(engine, taken(engine), "No answer.")
    assert deliveries.claim(engine) is None
    stored(engine, rule, 2)  # the second one is new, and so a try
    claimed = taken(engine)
    assert claimed.alerts[0].run_id == "run0001"
    deliveries.sent(engine, claimed)
    assert taken(engine).alerts[0].run_id == "run0000"


def test_it_is_given_up_after_the_last_try(
    engine: Engine, rule: AlertRule, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(deliveries, "MAX_TRIES", 3)
    stored(engine, rule, 2)
    for _ in range(3):
        assert states(engine) == [deliveries.WAITING] * 2
        deliveries.failed(engine, taken(engine), "No answer.")
        later(engine, 4000)
    assert states(engine) == [deliveries.GAVE_UP] * 2
    assert deliveries.claim(engine) is None


def test_the_longest_pause_is_an_hour(engine: Engine, rule: AlertRule) -> None:
    stored(engine, rule, 1)
    with writing(engine) as session:
        session.execute(update(AlertDelivery).values(tries=10))
    deliveries.failed(engine, taken(engine), "No answer.", pause=1e9)
    waits = deliveries.latest(engine, limit=1)[0].next_try_at - queries.database_time(engine)
    assert 3590 < waits.total_seconds() <= 3600


def test_what_is_refused_is_given_up_alone(engine: Engine, rule: AlertRule) -> None:
    stored(engine, rule, 2)
    deliveries.refused(engine, taken(engine), "404 Not Found")
    assert states(engine) == [deliveries.GAVE_UP, deliveries.WAITING]
    assert taken(engine).alerts[0].run_id == "run0001"


def test_ten_messages_in_a_minute_and_the_last_sums_up(engine: Engine, rule: AlertRule) -> None:
    stored(engine, rule, 50)
    sizes = []
    while claimed := deliveries.claim(engine):
        sizes.append(len(claimed.alerts))
        assert deliveries.sent(engine, claimed)
    assert sizes == [1] * 9 + [41]
    assert states(engine) == [deliveries.SENT] * 10 + [deliveries.SUMMED_UP] * 40
    stored(engine, rule, 2, first=50)
    assert deliveries.claim(engine) is None  # not in this minute
    later(engine, 61)
    assert len(taken(engine).alerts) == 1


def test_a_summary_that_fails_is_tried_again_whole(engine: Engine, rule: AlertRule) -> None:
    stored(engine, rule, 12)
    while (claimed := taken(engine)) and len(claimed.alerts) == 1:
        deliveries.sent(engine, claimed)
    deliveries.failed(engine, claimed, "No answer.")
    assert states(engine) == [deliveries.SENT] * 9 + [deliveries.WAITING] * 3
    later(engine, 4000)
    sent = 0
    while again := deliveries.claim(engine):
        sent += len(again.alerts)
        deliveries.sent(engine, again)
    assert sent == 3


def test_a_test_message_is_listed(engine: Engine, rule: AlertRule) -> None:
    for error in (None, "Refused."):
        test_id = deliveries.begin_test(engine, rule.channel_id)
        assert deliveries.latest(engine, limit=1)[0].error == "The test was interrupted."
        deliveries.end_test(engine, test_id, error)
    newest, older = deliveries.latest(engine, limit=9)
    assert (newest.state, newest.error, newest.rule_id) == (deliveries.GAVE_UP, "Refused.", None)
    assert (older.state, older.error) == (deliveries.SENT, None)
    assert deliveries.claim(engine) is None


def test_a_delivery_goes_with_its_run(engine: Engine, rule: AlertRule) -> None:
    stored(engine, rule, 2)
    commands.delete_run(engine, run_id="run0000")
    assert [one.run_id for one in deliveries.latest(engine, limit=9)] == ["run0001"]
    gone = Found(rule, "run0000", "once", {})
    assert deliveries.record(engine, [gone], rule_ids=[rule.id], seen=0) == 0
