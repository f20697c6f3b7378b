"""Channels: names, limits, and a secret that is in no listing and in no error."""

from __future__ import annotations

import logging
from typing import Any

import pytest
from sqlalchemy import Engine, event
from sqlalchemy.exc import DBAPIError, OperationalError

from ganboard.db.alerts import channels, deliveries, rules
from ganboard.db.errors import BadAlert, UnknownAlert, Unreachable
from ganboard.db.models import AlertChannel
from tests.unit.db.stored_runs import submitted

SECRET = "https://hooks.example.org/services/T00/B00/verysecretword"


def added(engine: Engine, name: str = "lab", **values: Any) -> AlertChannel:
    given = {"kind": "slack", "masked": "hooks.example.org", "options": {}, "secret": SECRET}
    return channels.add(engine, name=name, **{**given, **values})


def test_a_channel_is_listed_without_its_secret(engine: Engine) -> None:
    assert not channels.any_listed(engine)
    channel = added(engine)
    added(engine, "Another")
    assert channels.any_listed(engine)
    assert [one.name for one in channels.listed(engine)] == ["Another", "lab"]
    assert "verysecretword" not in repr([one.model_dump() for one in channels.listed(engine)])
    assert channels.secret(engine, channel.id) == SECRET
    assert channels.find(engine, "lab").id == channels.find(engine, channel.id).id == channel.id


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("", "has 0 characters"),
        (" " * 5, "has 0 characters"),
        ("x" * 41, "has 41 characters. Enter 1 to 40"),
        ("a\u202eb", "U+202E"),
        ("lab", "already exists"),
    ],
)
def test_a_name_that_cannot_be_used_is_refused(engine: Engine, name: str, says: str) -> None:
    added(engine)
    with pytest.raises(BadAlert, match=says.replace("+", r"\+")):
        added(engine, name)
    other = added(engine, "other")
    with pytest.raises(BadAlert, match=says.replace("+", r"\+")):
        channels.change(engine, other.id, name=name, masked="", options={}, secret=None)
    assert [one.name for one in channels.listed(engine)] == ["lab", "other"]


def test_the_number_of_channels_is_limited(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(channels, "CHANNELS", 2)
    added(engine, "one")
    added(engine, "two")
    with pytest.raises(BadAlert, match="already 2 channels"):
        added(engine, "three")


def test_a_change_keeps_the_secret_unless_there_is_a_new_one(engine: Engine) -> None:
    channel = added(engine)
    changed = channels.change(
        engine, channel.id, name="new", masked="m", options={"a": 1}, secret=None
    )
    assert (changed.name, changed.masked, changed.options) == ("new", "m", {"a": 1})
    assert channels.secret(engine, channel.id) == SECRET
    channels.change(engine, channel.id, name="new", masked="m", options={}, secret="other")
    assert channels.secret(engine, channel.id) == "other"


def test_a_channel_goes_with_its_secret_and_its_rules(engine: Engine) -> None:
    channel = added(engine)
    rule = rules.add(engine, channel_id=channel.id, event=rules.FAILED)
    deliveries.record(
        engine, [deliveries.Found(rule, submitted(engine), "once", {})], rule_ids=[rule.id], seen=0
    )
    channels.remove(engine, channel.id)
    assert rules.listed(engine) == []
    assert deliveries.latest(engine, limit=9) == []
    for call in (
        lambda: channels.secret(engine, channel.id),
        lambda: channels.remove(engine, channel.id),
        lambda: channels.find(engine, "lab"),
        lambda: channels.switch(engine, channel.id, on=True),
        lambda: rules.add(engine, channel_id=channel.id, event=rules.FAILED),
    ):
        with pytest.raises(UnknownAlert):
            call()


def test_switching_off_cancels_what_waits(engine: Engine) -> None:
    channel = added(engine)
    rule = rules.add(engine, channel_id=channel.id, event=rules.FAILED)
    found = [deliveries.Found(rule, submitted(engine), "once", {})]
    deliveries.record(engine, found, rule_ids=[rule.id], seen=0)
    channels.switch(engine, channel.id, on=False)
    assert rules.in_force(engine) == []
    assert deliveries.claim(engine) is None
    channels.switch(engine, channel.id, on=True)
    (again,) = rules.in_force(engine)
    assert again.since > rule.since
    assert deliveries.claim(engine) is None
    assert [one.state for one in deliveries.latest(engine, limit=9)] == [deliveries.CANCELLED]


def test_an_error_of_the_database_does_not_say_the_secret(
    engine: Engine, caplog: pytest.LogCaptureFixture
) -> None:
    """SQLAlchemy's own text lists the values of the statement."""
    caplog.set_level(logging.DEBUG)
    channel = added(engine)
    said: list[str] = []

    def fail(connection: Any, cursor: Any, statement: str, values: Any, *_: Any) -> None:
        if "alert_secret" in statement and not statement.startswith("SELECT"):
            said.append(str(OperationalError(statement, values, Exception("disk full"))))
            raise OperationalError(statement, values, Exception("disk full"))

    event.listen(engine, "before_cursor_execute", fail)
    for call in (
        lambda: added(engine, "second"),
        lambda: channels.change(
            engine, channel.id, name="lab", masked="", options={}, secret=SECRET + "2"
        ),
    ):
        with pytest.raises(Unreachable) as raised:
            call()
        assert "disk full" in str(raised.value)
        assert "verysecretword" not in str(raised.value)
        assert raised.value.__suppress_context__
    event.remove(engine, "before_cursor_execute", fail)
    assert any("verysecretword" in text for text in said)  # it would have been said
    assert issubclass(OperationalError, DBAPIError)
    assert "verysecretword" not in caplog.text
