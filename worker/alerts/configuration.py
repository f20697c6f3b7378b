"""Channels and rules as people give them: checked, stored, tested. What grants access is taken here
and shown nowhere: a channel keeps only what may be shown beside it."""

from __future__ import annotations

from typing import Any

from ganboard.db.alerts import channels, rules
from ganboard.db.errors import BadAlert
from ganboard.db.models import AlertChannel, AlertRule
from ganboard.db.runs import search
from ganboard.db.settings import Settings
from ganboard.gan.settings.metadata import all_defaults
from ganboard.worker.alerts import addresses
from ganboard.worker.context import Context

DEFAULT_MINUTES, MAX_MINUTES = 30, 7 * 24 * 60


def add_channel(
    context: Context, *, name: str, kind: str, secret: str, mail: addresses.Mail | None = None
) -> AlertChannel:
    """A new channel; `secret` is the address of its webhook, or the password of the mail server,
    empty for none. Raises BadAlert."""
    if kind not in channels.KINDS:
        raise BadAlert(f"{kind[:40]!r} is no kind: choose from {', '.join(channels.KINDS)}.")
    masked, options = _described(context.settings, kind, secret, mail)
    if options.get("user") and not secret:
        raise BadAlert(f"The user {options['user'][:40]!r} needs a password.")
    return channels.add(
        context.engine, name=name, kind=kind, masked=masked, options=options, secret=secret.strip()
    )


def change_channel(
    context: Context,
    channel: AlertChannel,
    *,
    name: str,
    secret: str,
    mail: addresses.Mail | None = None,
) -> AlertChannel:
    """Replace what a channel has; with an empty `secret` it keeps its own. Raises BadAlert and
    UnknownAlert."""
    masked, options = channel.masked, channel.options
    if channel.kind == "email" or secret:
        masked, options = _described(context.settings, channel.kind, secret, mail)
    kept: str | None = secret.strip() or None
    if channel.kind == "email" and not options["user"]:
        kept = ""  # or a later user would get the password of another one
    elif kept is None and _place(options) != _place(channel.options):
        raise BadAlert("Enter the password again: another server or user must not get the old one.")
    return channels.change(
        context.engine, channel.id, name=name, masked=masked, options=options, secret=kept
    )


def add_rule(
    context: Context,
    channel: AlertChannel,
    *,
    event: str,
    condition: str = "",
    minutes: int | None = None,
    sought: str = "",
) -> AlertRule:
    """A new rule about what happens from now on. Raises BadAlert and BadSearch."""
    values = _checked(event, condition, minutes, sought)
    return rules.add(context.engine, channel_id=channel.id, **values)


def change_rule(
    context: Context,
    rule: AlertRule,
    channel: AlertChannel,
    *,
    event: str,
    condition: str = "",
    minutes: int | None = None,
    sought: str = "",
) -> AlertRule:
    """Replace what a rule says. Raises BadAlert, BadSearch and UnknownAlert."""
    values = _checked(event, condition, minutes, sought)
    return rules.change(context.engine, rule.id, channel_id=channel.id, **values)


def _described(
    settings: Settings, kind: str, secret: str, mail: addresses.Mail | None
) -> tuple[str, dict[str, Any]]:
    """What may be shown of a channel, and its options. Raises BadAlert."""
    if kind != "email":
        return addresses.check_webhook(settings, secret), {}
    if mail is None:
        raise BadAlert("A channel for mail needs a server, a sender and recipients.")
    return addresses.check_mail(settings, mail, secret)


def _place(options: dict[str, Any]) -> tuple[Any, ...]:
    """What a password is for."""
    return tuple(options.get(name) for name in ("host", "port", "security", "user"))


def _checked(event: str, condition: str, minutes: int | None, sought: str) -> dict[str, Any]:
    """The values of a rule. Raises BadAlert and BadSearch."""
    if event not in rules.EVENTS:
        raise BadAlert(f"{event[:40]!r} is no event: choose from {', '.join(rules.EVENTS)}.")
    condition, sought = condition.strip(), sought.strip()
    settings = all_defaults()
    search.parse(sought, settings)
    if event == rules.METRIC:
        if not search.parse(condition, settings):
            raise BadAlert("The condition is empty. Enter one such as fid<5.")
    elif condition:
        raise BadAlert(f"A condition is for rules on {rules.METRIC} only.")
    if event == rules.NO_PROGRESS:
        minutes = DEFAULT_MINUTES if minutes is None else minutes
        if not 1 <= minutes <= MAX_MINUTES:
            raise BadAlert(f"{minutes} minutes are not possible. Use 1 to {MAX_MINUTES:,}.")
    elif minutes is not None:
        raise BadAlert(f"Minutes are for rules on {rules.NO_PROGRESS} only.")
    return {"event": event, "condition": condition, "minutes": minutes, "search": sought}
