"""Channels, rules and deliveries in words and as JSON, for the command line and the pages."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Engine

from ganboard.db.alerts import channels, deliveries, rules
from ganboard.db.models import AlertChannel, AlertDelivery, AlertRule
from ganboard.worker.formatting import clean

EVENTS = {
    rules.FAILED: "A run fails",
    rules.FINISHED: "A run finishes",
    rules.NOT_FINITE: "A loss or weight is not finite",
    rules.COLLAPSE: "Mode collapse",
    rules.METRIC: "A condition holds",
    rules.NO_PROGRESS: "No progress",
}
STATES = {
    deliveries.WAITING: "Waiting",
    deliveries.SENT: "Sent",
    deliveries.SUMMED_UP: "Sent in a summary",
    deliveries.GAVE_UP: "Not sent",
    deliveries.CANCELLED: "Cancelled",
}
KINDS = {
    "slack": "Slack",
    "teams": "Microsoft Teams",
    "discord": "Discord",
    "webhook": "Webhook (JSON)",
    "email": "E-mail",
}


def document(engine: Engine, *, limit: int) -> dict[str, Any]:
    """All channels and rules, and the latest `limit` deliveries."""
    found = channels.listed(engine)
    names = {one.id: one.name for one in found}
    return {
        "channels": [channel(one) for one in found],
        "rules": [rule(one, names[one.channel_id]) for one in rules.listed(engine)],
        "deliveries": [
            delivery(one, names.get(one.channel_id, ""))
            for one in deliveries.latest(engine, limit=limit)
        ],
    }


def channel(one: AlertChannel) -> dict[str, Any]:
    """A channel, with what may be shown of its address."""
    return {
        "id": one.id,
        "name": one.name,
        "kind": one.kind,
        "address": one.masked,
        "enabled": one.enabled,
    }


def rule(one: AlertRule, channel_name: str) -> dict[str, Any]:
    """A rule with the name of its channel."""
    return {
        "id": one.id,
        "channel": channel_name,
        "about": sentence(one),
        "event": one.event,
        "condition": one.condition or None,
        "minutes": one.minutes,
        "search": one.search or None,
        "enabled": one.enabled,
    }


def delivery(one: AlertDelivery, channel_name: str) -> dict[str, Any]:
    """A delivery with the name of its channel."""
    return {
        "id": one.id,
        "channel": channel_name,
        "rule": one.rule_id,
        "run": one.run_id,
        "name": one.message.get("name"),
        "event": one.message.get("event", "test"),
        "state": one.state,
        "tries": one.tries,
        "error": one.error,
        "created_at": one.created_at,
        "sent_at": one.sent_at,
        "next_try_at": one.next_try_at if one.state == deliveries.WAITING else None,
    }


def sentence(one: AlertRule) -> str:
    """What a rule is about, in words."""
    about = EVENTS[one.event]
    if one.event == rules.METRIC:
        about = f"{about}: {one.condition}"
    if one.event == rules.NO_PROGRESS:
        about = f"{about} for {one.minutes} min"
    return f"{about}, of runs with {one.search}" if one.search else about


def text(found: dict[str, Any]) -> str:
    """The same for a terminal."""
    if not found["channels"]:
        return "There are no channels. Add one: ganboard alerts add-channel --help"
    lines = ["Channels"]
    for one in found["channels"]:
        off = "" if one["enabled"] else "  off"
        lines.append(f"  {clean(one['name'])}  {KINDS[one['kind']]}  {one['address']}{off}")
    lines.append("Rules")
    for one in found["rules"]:
        off = "" if one["enabled"] else "  off"
        lines.append(f"  {one['id']}  {clean(one['about'])}  to {clean(one['channel'])}{off}")
    lines.append("Latest deliveries")
    for one in found["deliveries"]:
        about = clean(one["name"] or "Test message")
        why = f"  {clean(one['error'])}" if one["error"] else ""
        state = STATES[one["state"]]
        lines.append(f"  {one['created_at']:%Y-%m-%d %H:%M}  {state}  {one['event']}  {about}{why}")
    return "\n".join(lines)
