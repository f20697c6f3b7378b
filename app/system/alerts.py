"""Alerts: the channels as far as they may be shown, the rules, and the latest deliveries."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pandas as pd
import streamlit as st

from ganboard.app import auth, errors
from ganboard.app.system import alert_dialogs
from ganboard.db.alerts import channels, deliveries, rules
from ganboard.db.models import AlertChannel, AlertRule
from ganboard.db.runs import queries
from ganboard.worker import formatting
from ganboard.worker.alerts import listing
from ganboard.worker.context import Context

TICK_SECONDS = 5.0
DELIVERIES = 20


def show(context: Context) -> None:
    """The section; its buttons are outside of what is drawn every few seconds, since dialogs must
    not belong to it."""
    st.header("Alerts", anchor=False)
    found = channels.listed(context.engine)
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        if st.button("Add channel", icon=":material/add:", key="add_channel", **auth.writer()):
            alert_dialogs.channel(context, None)
        why = None if found else "Add a channel first."
        if st.button(
            "Add rule",
            icon=":material/add_alert:",
            key="add_rule",
            **auth.writer(why, disabled=not found),
        ):
            alert_dialogs.rule(context, None)
    if not found:
        st.caption(
            "Send a message to Slack, Teams, Discord, a webhook or by mail when a run fails,"
            " finishes, diverges, collapses, reaches a metric or makes no progress."
        )
        return
    st.subheader("Channels", anchor=False)
    for one in found:
        _channel(context, one)
    st.subheader("Rules", anchor=False)
    in_order = rules.listed(context.engine)
    names = {one.id: one.name for one in found}
    for rule in in_order:
        _rule(context, rule, names.get(rule.channel_id, ""))
    if not in_order:
        st.caption("There are no rules yet, so nothing is sent.")
    st.subheader("Latest deliveries", anchor=False)
    st.fragment(_deliveries, run_every=TICK_SECONDS, key="alert_deliveries")(context, names)


def _channel(context: Context, one: AlertChannel) -> None:
    off = "" if one.enabled else " :gray-badge[Off]"
    text = f"**{formatting.escape(one.name)}** {listing.KINDS[one.kind]}, "
    with _row(f"{text}{formatting.escape(one.masked)}{off}"):
        about = "Send a test message to this channel now."
        if _button("Test", ":material/send:", f"test_{one.id}", about):
            _test(context, one)
        if _button("Edit", ":material/edit:", f"edit_{one.id}"):
            alert_dialogs.channel(context, one)
        if _switch(one.id, on=one.enabled):
            with errors.sentences():
                channels.switch(context.engine, one.id, on=not one.enabled)
                st.rerun()
        if _button("Remove", ":material/delete:", f"delete_{one.id}"):
            alert_dialogs.remove_channel(context, one)


def _rule(context: Context, one: AlertRule, channel_name: str) -> None:
    off = "" if one.enabled else " :gray-badge[Off]"
    about = formatting.escape(listing.sentence(one))
    to = formatting.escape(channel_name)
    with _row(f"{about} :material/arrow_forward: **{to}**{off}"):
        if _button("Edit", ":material/edit:", f"edit_{one.id}"):
            alert_dialogs.rule(context, one)
        if _switch(one.id, on=one.enabled):
            with errors.sentences():
                rules.switch(context.engine, one.id, on=not one.enabled)
                st.rerun()
        if _button("Remove", ":material/delete:", f"delete_{one.id}"):
            with errors.sentences():
                rules.remove(context.engine, one.id)
                st.rerun()


@contextmanager
def _row(text: str) -> Iterator[None]:
    """Text, and beside it, or below it where there is no room, its buttons."""
    with st.container(
        horizontal=True, vertical_alignment="center", horizontal_alignment="distribute", gap="small"
    ):
        st.markdown(text, width="content")
        with st.container(horizontal=True, width="content", gap="medium"):
            yield


def _switch(which: str, *, on: bool) -> bool:
    icon = ":material/notifications_off:" if on else ":material/notifications:"
    about = "Waiting messages are cancelled." if on else "Events in the meantime are not sent."
    return _button("Switch off" if on else "Switch on", icon, f"switch_{which}", about)


def _button(label: str, icon: str, key: str, about: str | None = None) -> bool:
    return st.button(label, icon=icon, key=key, type="tertiary", **auth.writer(about))


def _test(context: Context, one: AlertChannel) -> None:
    with errors.sentences():
        with st.spinner("Sending a test message ..."):
            # with httpx, which only this button needs
            from ganboard.worker.alerts import sending  # noqa: PLC0415

            error = sending.send_test(context, one)
        name = formatting.escape(one.name)
        if error:
            st.toast(f"**{name}**: {formatting.sentence(error)}", icon=":material/error:")
        else:
            st.toast(f"Sent a test message to **{name}**.", icon=":material/check:")


def _deliveries(context: Context, names: dict[str, str]) -> None:
    newest = deliveries.latest(context.engine, limit=DELIVERIES)
    if not newest:
        st.caption("Nothing has been sent yet.")
        return
    present = queries.database_time(context.engine)
    rows = [
        (
            formatting.ago((present - one.created_at).total_seconds()),
            names.get(one.channel_id, ""),
            _event(one.message.get("event")),
            str(one.message.get("name", "")),
            listing.STATES[one.state],
            one.tries,
            one.error or "",
        )
        for one in newest
    ]
    columns = ["When", "Channel", "Event", "Of", "Delivery", "Failed attempts", "Error"]
    st.dataframe(
        pd.DataFrame(rows, columns=columns),
        hide_index=True,
        key="deliveries",
        column_config={
            "Delivery": st.column_config.TextColumn(
                help="Alerts that cannot be delivered are retried for about five hours"
            )
        },
    )


def _event(event: str | None) -> str:
    return listing.EVENTS[event] if event else "Test message"
