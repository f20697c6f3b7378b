"""Channels and rules as people give them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ganboard.db.alerts import channels, rules
from ganboard.db.errors import BadAlert, BadSearch
from ganboard.worker.alerts import configuration
from ganboard.worker.alerts.addresses import Mail
from ganboard.worker.context import Context

ADDRESS = "https://hooks.example.org/services/T00/B00/verysecretword"
MAIL = Mail("mail.example.org", "lab@example.org", ("me@example.org",), user="lab")


def test_a_channel_keeps_apart_what_is_shown(context: Context) -> None:
    channel = configuration.add_channel(context, name="lab", kind="slack", secret=f" {ADDRESS}\n")
    assert channel.masked == "https://hooks.example.org/…word"
    assert "verysecret" not in repr(channel.model_dump())
    assert channels.secret(context.engine, channel.id) == ADDRESS


def test_a_changed_channel_keeps_its_secret_unless_there_is_a_new_one(context: Context) -> None:
    channel = configuration.add_channel(context, name="lab", kind="slack", secret=ADDRESS)
    changed = configuration.change_channel(context, channel, name="new", secret="")
    assert (changed.name, changed.masked) == ("new", channel.masked)
    assert channels.secret(context.engine, channel.id) == ADDRESS
    other = "https://other.example.org/services/abcdefgh"
    changed = configuration.change_channel(context, changed, name="new", secret=other)
    assert changed.masked == "https://other.example.org/…efgh"
    assert channels.secret(context.engine, channel.id) == other


@pytest.mark.parametrize(
    "change", [{"host": "evil.example"}, {"port": 2525}, {"user": "eve"}, {"security": "tls"}]
)
def test_a_password_goes_to_no_other_server_or_user(
    context: Context, change: dict[str, object]
) -> None:
    channel = configuration.add_channel(
        context, name="me", kind="email", secret="password", mail=MAIL
    )
    elsewhere = replace(MAIL, **change)  # type: ignore[arg-type]
    with pytest.raises(BadAlert, match="Enter the password again"):
        configuration.change_channel(context, channel, name="me", secret="", mail=elsewhere)
    more = replace(MAIL, recipients=("you@example.org",))
    changed = configuration.change_channel(context, channel, name="me", secret="", mail=more)
    assert changed.options["recipients"] == ["you@example.org"]
    assert channels.secret(context.engine, channel.id) == "password"
    nobody = replace(MAIL, user="")
    changed = configuration.change_channel(context, changed, name="me", secret="", mail=nobody)
    assert channels.secret(context.engine, channel.id) == ""


def test_what_is_incomplete_is_refused(context: Context) -> None:
    for kind, secret, mail, says in (
        ("pager", ADDRESS, None, "'pager' is no kind"),
        ("slack", "", None, "The address is not one"),
        ("email", "", None, "needs a server"),
        ("email", "", MAIL, "needs a password"),
    ):
        with pytest.raises(BadAlert, match=says):
            configuration.add_channel(context, name="lab", kind=kind, secret=secret, mail=mail)
    assert channels.listed(context.engine) == []


@pytest.mark.parametrize(
    ("values", "says"),
    [
        ({"event": "explodes"}, "'explodes' is no event: choose from failed"),
        ({"event": "metric"}, "The condition is empty"),
        ({"event": "failed", "condition": "fid<5"}, "for rules on metric only"),
        ({"event": "failed", "minutes": 5}, "for rules on no_progress only"),
        ({"event": "no_progress", "minutes": 0}, "0 minutes"),
        ({"event": "no_progress", "minutes": 10081}, "Use 1 to 10,080"),
    ],
)
def test_a_rule_that_means_nothing_is_refused(
    context: Context, values: dict[str, object], says: str
) -> None:
    channel = configuration.add_channel(context, name="lab", kind="slack", secret=ADDRESS)
    with pytest.raises(BadAlert, match=says):
        configuration.add_rule(context, channel, **values)  # type: ignore[arg-type]
    assert rules.listed(context.engine) == []


def test_searches_are_checked_when_they_are_given(context: Context) -> None:
    channel = configuration.add_channel(context, name="lab", kind="slack", secret=ADDRESS)
    with pytest.raises(BadSearch, match="did you mean fid"):
        configuration.add_rule(context, channel, event="metric", condition="fdi<5")
    with pytest.raises(BadSearch, match="has no value"):
        configuration.add_rule(context, channel, event="failed", sought="tag:")
    rule = configuration.add_rule(context, channel, event="no_progress", sought=" tag:x ")
    assert (rule.minutes, rule.search) == (configuration.DEFAULT_MINUTES, "tag:x")
    with pytest.raises(BadSearch):
        configuration.change_rule(context, rule, channel, event="metric", condition="fid<<")
    changed = configuration.change_rule(context, rule, channel, event="metric", condition="fid<5")
    assert (changed.event, changed.minutes, changed.condition) == ("metric", None, "fid<5")
