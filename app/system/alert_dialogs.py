"""The dialogs in which channels and rules of alerts are entered, changed and removed. An address or
password is entered here and never shown again."""

from __future__ import annotations

from typing import Any

import streamlit as st

from ganboard.app import auth, errors
from ganboard.app.launch import typed
from ganboard.db.alerts import channels, rules
from ganboard.db.models import AlertChannel, AlertRule
from ganboard.worker import formatting
from ganboard.worker.alerts import addresses, configuration, listing
from ganboard.worker.context import Context

HINTS = {
    "slack": "https://hooks.slack.com/services/...",
    "teams": "https://....powerplatform.com/.../workflows/...",
    "discord": "https://discord.com/api/webhooks/...",
    "webhook": "https://example.org/hook",
}
SECURITIES = {"starttls": "STARTTLS", "tls": "TLS", "none": "None (this machine)"}
KEPT = "Unchanged"


@st.dialog("Channel", icon=":material/campaign:")
def channel(context: Context, present: AlertChannel | None) -> None:
    """Add a channel, or change the one that is `present`."""
    kind = (
        present.kind
        if present
        else st.selectbox(
            "Kind", channels.KINDS, format_func=listing.KINDS.__getitem__, key="channel_kind"
        )
    )
    with st.form("channel", border=False):
        name = st.text_input(
            "Name", present.name if present else "", max_chars=channels.NAME_LENGTH
        )
        if kind == "email":
            mail, secret = _mail(present)
        else:
            mail = None
            secret = st.text_input(
                "Address of the webhook",
                type="password",
                placeholder=KEPT if present else HINTS[kind],
                autocomplete="off",
                help="It grants access, so it is stored and not shown again.",
            )
        if not st.form_submit_button("Save", type="primary", **auth.writer()):
            return
    with errors.sentences():
        server = _server(mail) if mail else None
        if present:
            configuration.change_channel(context, present, name=name, secret=secret, mail=server)
        else:
            configuration.add_channel(context, name=name, kind=kind, secret=secret, mail=server)
        st.rerun()


def _mail(present: AlertChannel | None) -> tuple[dict[str, str], str]:
    """What is typed about a mail server, and the password."""
    has = present.options if present else {}
    left, right = st.columns([3, 1])
    host = left.text_input("Mail server", has.get("host", ""), placeholder="mail.example.org")
    port = right.text_input("Port", str(has.get("port", "")), placeholder="587")
    security = st.selectbox(
        "Encryption",
        list(SECURITIES),
        list(SECURITIES).index(has.get("security", "starttls")),
        format_func=SECURITIES.__getitem__,
    )
    left, right = st.columns(2)
    user = left.text_input("User", has.get("user", ""), autocomplete="off")
    password = right.text_input(
        "Password",
        type="password",
        placeholder=KEPT if present else "",
        autocomplete="new-password",
        help="It is stored and not shown again.",
    )
    sender = st.text_input("From", has.get("sender", ""), placeholder="ganboard@example.org")
    recipients = st.text_input(
        "To", ", ".join(has.get("recipients", ())), placeholder="me@example.org, you@example.org"
    )
    values = {"host": host, "port": port, "security": security, "user": user}
    return {**values, "sender": sender, "recipients": recipients}, password


def _server(mail: dict[str, str]) -> addresses.Mail:
    return addresses.Mail(
        host=mail["host"].strip(),
        port=typed.whole("Port", mail["port"], 1, 65535) if mail["port"].strip() else None,
        security=mail["security"],
        user=mail["user"].strip(),
        sender=mail["sender"].strip(),
        recipients=addresses.split_addresses(mail["recipients"]),
    )


@st.dialog("Rule", icon=":material/add_alert:")
def rule(context: Context, present: AlertRule | None) -> None:
    """Add a rule, or change the one that is `present`."""
    found = channels.listed(context.engine)
    ids = [one.id for one in found]
    names = {one.id: one.name for one in found}
    event = st.selectbox(
        "When",
        rules.EVENTS,
        rules.EVENTS.index(present.event) if present else 0,
        format_func=listing.EVENTS.__getitem__,
        key="rule_event",
    )
    with st.form("rule", border=False):
        condition, minutes = "", ""
        if event == rules.METRIC:
            condition = st.text_input(
                "Condition",
                present.condition if present else "",
                placeholder="fid<5",
                help="As in the search of runs: all terms must hold, such as fid<5 epoch>=10.",
            )
        if event == rules.NO_PROGRESS:
            usual = configuration.DEFAULT_MINUTES
            minutes = st.text_input(
                "Minutes without progress", str((present and present.minutes) or usual)
            )
        sought = st.text_input(
            "Only runs with",
            present.search if present else "",
            placeholder="All runs",
            help="As in the search of runs, such as tag:paper or batch_size>=128.",
        )
        channel_id = st.selectbox(
            "Channel",
            ids,
            ids.index(present.channel_id) if present and present.channel_id in ids else 0,
            format_func=names.__getitem__,
        )
        if not st.form_submit_button("Save", type="primary", **auth.writer()):
            return
    with errors.sentences():
        whole = typed.whole("Minutes", minutes, 1, configuration.MAX_MINUTES) if minutes else None
        values: dict[str, Any] = {"event": event, "condition": condition, "minutes": whole}
        values["sought"] = sought
        to = channels.find(context.engine, channel_id)
        if present:
            configuration.change_rule(context, present, to, **values)
        else:
            configuration.add_rule(context, to, **values)
        st.rerun()


@st.dialog("Remove channel?", icon=":material/delete:")
def remove_channel(context: Context, present: AlertChannel) -> None:
    """Ask before a channel goes with its rules."""
    own = sum(one.channel_id == present.id for one in rules.listed(context.engine))
    st.markdown(
        f"**{formatting.escape(present.name)}** will be removed with its address and"
        f" {formatting.plural(own, 'rule')}."
    )
    if st.button("Remove", type="primary", key="delete_confirmed", **auth.writer()):
        with errors.sentences():
            channels.remove(context.engine, present.id)
            st.rerun()
