"""Alerts on the page of the installation: added, tested, changed, switched, removed, and never a
secret."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from ganboard.app import auth
from ganboard.db import heartbeats
from ganboard.db.alerts import channels, deliveries, rules
from ganboard.db.models import ALERTS, Run
from ganboard.db.settings import Settings
from ganboard.worker.access import sign_in
from ganboard.worker.alerts import configuration
from ganboard.worker.alerts.addresses import Mail
from ganboard.worker.context import Context
from tests.receivers import WebReceiver, web_receiver
from tests.sign_in import identity
from tests.ui.pages import MAIN, button, checked, open_page, words

MakeRun = Callable[..., Run]
ADDRESS = "https://hooks.example.org/services/T00/B00/verysecretword"


@pytest.fixture
def receiver() -> Iterator[WebReceiver]:
    with web_receiver() as found:
        yield found


def click(at: AppTest, label: str) -> AppTest:
    return checked(button(at, label).click().run())


def channel_dialog() -> None:
    """The dialog alone: the harness has no fragments, and runs a whole script at each click."""
    import streamlit as st

    from ganboard.app import navigation
    from ganboard.app.system import alert_dialogs
    from ganboard.db.alerts import channels

    context = navigation.context()
    found = channels.listed(context.engine) if st.session_state.get("present") else [None]
    alert_dialogs.channel(context, found[0])


def rule_dialog() -> None:
    import streamlit as st

    from ganboard.app import navigation
    from ganboard.app.system import alert_dialogs
    from ganboard.db.alerts import rules

    context = navigation.context()
    found = rules.listed(context.engine) if st.session_state.get("present") else [None]
    alert_dialogs.rule(context, found[0])


def removal_dialog() -> None:
    from ganboard.app import navigation
    from ganboard.app.system import alert_dialogs
    from ganboard.db.alerts import channels

    context = navigation.context()
    for one in channels.listed(context.engine):
        alert_dialogs.remove_channel(context, one)


def opened(dialog: Callable[[], None], *, present: bool = False) -> AppTest:
    at = AppTest.from_function(dialog, default_timeout=30)
    at.session_state["present"] = present
    return checked(at.run())


def field(at: AppTest, label: str) -> Any:
    return next(one for one in [*at.text_input, *at.selectbox] if one.label == label)


def everything(at: AppTest) -> str:
    """All that the browser gets, the values of its fields left out of what it typed itself."""
    return repr(at.main) + words(at) + "".join(frame.value.to_string() for frame in at.dataframe)


def added(context: Context, secret: str = ADDRESS) -> Any:
    return configuration.add_channel(context, name="lab", kind="slack", secret=secret)


@pytest.mark.usefixtures("context")
def test_without_channels_the_section_says_what_it_is_for() -> None:
    at = open_page("system")
    assert "Send a message to Slack, Teams, Discord" in words(at)
    assert button(at, "Add rule").disabled
    assert not button(at, "Add channel").disabled
    assert "no alert is sent" not in words(at)


def test_a_channel_is_added_and_its_address_is_never_shown(context: Context) -> None:
    at = opened(channel_dialog)
    field(at, "Name").input("lab")
    assert field(at, "Address of the webhook").proto.type == 1  # a password field
    field(at, "Address of the webhook").input(ADDRESS)
    at = click(at, "Save")
    (channel,) = channels.listed(context.engine)
    assert channels.secret(context.engine, channel.id) == ADDRESS
    at = open_page("system")
    assert "**lab** Slack, https://hooks.example.org/…word" in words(at)
    assert "verysecret" not in everything(at)
    assert "Name" in [one.label for one in click(at, "Edit").text_input]
    at = opened(channel_dialog, present=True)
    assert field(at, "Address of the webhook").value == ""
    assert "verysecret" not in everything(at)


def test_what_cannot_be_used_is_said_and_nothing_is_lost(context: Context) -> None:
    at = opened(channel_dialog)
    field(at, "Name").input("lab")
    field(at, "Address of the webhook").input("http://hooks.example.org/verysecretword")
    at = click(at, "Save")
    assert "The address on hooks.example.org is not encrypted" in words(at)
    assert field(at, "Name").value == "lab"
    assert channels.listed(context.engine) == []


def test_a_mail_server_is_entered(context: Context) -> None:
    at = opened(channel_dialog)
    at = checked(field(at, "Kind").select("email").run())
    for label, value in {
        "Name": "me",
        "Mail server": "mail.example.org",
        "Port": "",
        "User": "lab",
        "Password": "verysecretword",
        "From": "lab@example.org",
        "To": "me@example.org you@example.org",
    }.items():
        field(at, label).input(value)
    click(at, "Save")
    (channel,) = channels.listed(context.engine)
    assert channel.options["recipients"] == ["me@example.org", "you@example.org"]
    at = open_page("system")
    assert "mail.example.org:587, to 2 at example.org" in words(at)
    at = opened(channel_dialog, present=True)
    assert field(at, "User").value == "lab"
    assert field(at, "Password").value == ""
    assert "verysecret" not in everything(at)
    field(at, "Mail server").input("evil.example")
    at = click(at, "Save")
    assert "Enter the password again" in words(at)
    field(at, "Mail server").input("mail.example.org")
    field(at, "Port").input("70000")
    assert "Port: '70000' is invalid" in words(click(at, "Save"))


def test_the_button_sends_a_test_message(context: Context, receiver: WebReceiver) -> None:
    added(context, receiver.url)
    at = click(open_page("system"), "Test")
    assert [body["text"] for body in receiver.got] == ["Test message"]
    assert "Sent a test message to **lab**." in [toast.value for toast in at.toast]
    receiver.status = 404
    at = click(at, "Test")
    assert "404 Not Found" in at.toast[0].value.replace("\\", "")
    shown = next(frame.value for frame in at.dataframe if "Delivery" in frame.value)
    assert shown["Delivery"].tolist() == ["Not sent", "Sent"]
    assert "verysecret" not in everything(at)


def test_rules_are_added_changed_switched_and_removed(context: Context) -> None:
    added(context)
    at = open_page("system")
    assert "There are no rules yet" in words(at)
    assert "When" in [one.label for one in click(at, "Add rule").selectbox]
    at = opened(rule_dialog)
    at = checked(field(at, "When").select(rules.METRIC).run())
    field(at, "Condition").input("fdi<5")
    at = click(at, "Save")
    assert "did you mean fid?" in words(at)
    field(at, "Condition").input("fid<5")
    field(at, "Only runs with").input("tag:x")
    click(at, "Save")
    (rule,) = rules.listed(context.engine)
    assert (rule.event, rule.condition, rule.search) == ("metric", "fid<5", "tag:x")
    at = open_page("system")
    assert "A condition holds: fid<5, of runs with tag:x" in words(at)

    def press(prefix: str) -> AppTest:
        key = f"{prefix}_{rule.id}"
        return checked(next(one for one in at.button if one.key == key).click().run())

    assert "Condition" in [one.label for one in press("edit").text_input]
    at = opened(rule_dialog, present=True)
    assert field(at, "Condition").value == "fid<5"
    at = checked(field(at, "When").select(rules.NO_PROGRESS).run())
    assert field(at, "Minutes without progress").value == "30"
    field(at, "Minutes without progress").input("5")
    click(at, "Save")
    assert rules.find(context.engine, rule.id).minutes == 5
    at = open_page("system")
    at = press("switch")
    assert not rules.find(context.engine, rule.id).enabled
    at = open_page("system")
    assert "Switch on" in [one.label for one in at.button if one.key == f"switch_{rule.id}"]
    at = press("delete")
    assert rules.listed(context.engine) == []


def test_a_channel_is_removed_when_that_is_confirmed(context: Context) -> None:
    channel = added(context)
    rules.add(context.engine, channel_id=channel.id, event=rules.FAILED)
    at = open_page("system")
    key = f"delete_{channel.id}"
    at = checked(next(one for one in at.button if one.key == key).click().run())
    assert "**lab** will be removed with its address and 1 rule." in words(at)
    assert channels.listed(context.engine)
    at = opened(removal_dialog)
    checked(next(one for one in at.button if one.key == "delete_confirmed").click().run())
    assert channels.listed(context.engine) == rules.listed(context.engine) == []


def test_deliveries_and_the_sender_are_shown(context: Context, make_run: MakeRun) -> None:
    channel = added(context)
    rule = rules.add(context.engine, channel_id=channel.id, event=rules.FAILED)
    message = {"event": "failed", "name": "<b>run</b>"}
    found = deliveries.Found(rule, make_run().id, "once", message)
    deliveries.record(context.engine, [found], rule_ids=[rule.id], seen=0)
    at = open_page("system")
    assert words(at).count("no alert is sent") == 1
    shown = next(frame.value for frame in at.dataframe if "Delivery" in frame.value).iloc[0]
    assert (shown["Channel"], shown["Event"], shown["Of"], shown["Delivery"]) == (
        "lab", "A run fails", "<b>run</b>", "Waiting",
    )  # fmt: skip
    heartbeats.record(
        context.engine, name="box:alerts:1", kind=ALERTS, host="box", pid=1, run_id=None
    )
    assert "no alert is sent" not in words(open_page("system"))


# --- read-only ---


@pytest.fixture
def signed_in(home: object, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in identity.environment("https://ganboard.example").items():
        monkeypatch.setenv(name, value)
    assert sign_in(Settings()) is not None


def test_viewers_see_what_is_masked_and_change_nothing(
    signed_in: None, context: Context, receiver: WebReceiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    channel = added(context, receiver.url)
    server = Mail("mail.example.org", "lab@example.org", ("me@example.org",))
    configuration.add_channel(context, name="me", kind="email", secret="", mail=server)
    rule = rules.add(context.engine, channel_id=channel.id, event=rules.FAILED)
    at = AppTest.from_file(MAIN, default_timeout=30)
    at.user = identity.claims(identity.VIEWER)
    at.switch_page("pages/system.py")
    checked(at.run())
    assert "**lab** Slack, http://127.0.0.1" in words(at)
    assert "verysecret" not in everything(at)
    assert "me@example.org" not in everything(at)
    own = [one for one in at.button if one.key and one.key.endswith((channel.id, rule.id))]
    assert len(own) == 7
    assert all(one.disabled for one in [*own, button(at, "Add channel"), button(at, "Add rule")])
    # a browser can send any click
    monkeypatch.setattr(auth, "writer", lambda *_, **__: {"disabled": False})
    at = checked(at.run())
    for key in (f"test_{channel.id}", f"switch_{channel.id}", f"delete_{rule.id}"):
        at = checked(next(one for one in at.button if one.key == key).click().run())
        assert "Only operators can make changes" in words(at)
    assert receiver.paths == []
    assert channels.find(context.engine, "lab").enabled
    assert rules.listed(context.engine) == [rule]
