"""Alerts: channels, rules, deliveries. What grants access is taken here and answered nowhere."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Any

from fastapi import APIRouter, Path

from ganboard.db.alerts import channels, rules
from ganboard.db.models import AlertChannel, AlertDelivery, AlertRule
from ganboard.db.paging import rows
from ganboard.worker.alerts import configuration, listing, sending
from ganboard.worker.alerts.addresses import Mail
from ganboard.worker.api import answers, bodies, paging
from ganboard.worker.api.answers import alerts as answered
from ganboard.worker.api.callers import Reading, Writing

CREATED = 201
Channel = Annotated[str, Path(description="Name or id of a channel.")]
router = APIRouter(tags=["alerts"])


@router.get("/alerts/channels", summary="List where alerts are sent")
def list_channels(context: Reading) -> list[answered.ChannelRow]:
    return [_channel(one) for one in channels.listed(context.engine)]


@router.post("/alerts/channels", summary="Add a channel", status_code=CREATED)
def add_channel(context: Writing, asked: bodies.Channel) -> answered.ChannelRow:
    mail = None if asked.mail is None else _mail(Mail("", "", ()), asked.mail)
    given = asked.model_dump(include={"name", "kind", "secret"})
    return _channel(configuration.add_channel(context, **given, mail=mail))


@router.patch("/alerts/channels/{channel}", summary="Change a channel, or switch it on or off")
def change_channel(
    context: Writing, channel: Channel, asked: bodies.ChannelChange
) -> answered.ChannelRow:
    """Another mail server or user needs the password again."""
    found = channels.find(context.engine, channel)
    if asked.model_dump(exclude={"enabled"}, exclude_none=True):
        mail = None
        if found.kind == "email":
            known = Mail(**{**found.options, "recipients": tuple(found.options["recipients"])})
            mail = known if asked.mail is None else _mail(known, asked.mail)
        name = found.name if asked.name is None else asked.name
        configuration.change_channel(
            context, found, name=name, secret=asked.secret or "", mail=mail
        )
    if asked.enabled is not None:
        channels.switch(context.engine, found.id, on=asked.enabled)
    return _channel(channels.find(context.engine, found.id))


@router.delete(
    "/alerts/channels/{channel}", summary="Delete a channel with its rules", status_code=204
)
def delete_channel(context: Writing, channel: Channel) -> None:
    channels.remove(context.engine, channels.find(context.engine, channel).id)


@router.post("/alerts/channels/{channel}/test", summary="Send a test message now")
def test_channel(context: Writing, channel: Channel) -> answered.Tested:
    """Takes up to 12 seconds."""
    error = sending.send_test(context, channels.find(context.engine, channel))
    return answered.Tested(sent=error is None, error=error)


@router.get("/alerts/rules", summary="List what is sent, in the order in which it was added")
def list_rules(context: Reading) -> list[answered.RuleRow]:
    names = {one.id: one.name for one in channels.listed(context.engine)}
    found = rules.listed(context.engine)
    return [_rule(one, names[one.channel_id]) for one in found if one.channel_id in names]


@router.post("/alerts/rules", summary="Add a rule", status_code=CREATED)
def add_rule(context: Writing, asked: bodies.Rule) -> answered.RuleRow:
    """About what happens from now on."""
    channel = channels.find(context.engine, asked.channel)
    given = asked.model_dump(include={"event", "condition", "minutes"})
    rule = configuration.add_rule(context, channel, **given, sought=asked.search)
    return _rule(rule, channel.name)


@router.patch("/alerts/rules/{rule}", summary="Change a rule, or switch it on or off")
def change_rule(context: Writing, rule: str, asked: bodies.RuleChange) -> answered.RuleRow:
    """A changed rule is about what happens from now on."""
    found = rules.find(context.engine, rule)
    channel = channels.find(context.engine, asked.channel or found.channel_id)
    given = asked.model_dump(exclude={"enabled", "channel"}, exclude_none=True)
    if given or channel.id != found.channel_id:
        kept: dict[str, Any] = {"event": found.event, "search": found.search}
        if given.get("event", found.event) == found.event:
            kept |= {"condition": found.condition, "minutes": found.minutes}
        values = kept | given
        sought = values.pop("search")
        configuration.change_rule(context, found, channel, **values, sought=sought)
    if asked.enabled is not None:
        rules.switch(context.engine, found.id, on=asked.enabled)
    return _rule(rules.find(context.engine, found.id), channel.name)


@router.delete("/alerts/rules/{rule}", summary="Delete a rule", status_code=204)
def delete_rule(context: Writing, rule: str) -> None:
    rules.remove(context.engine, rules.find(context.engine, rule).id)


@router.get("/alerts/deliveries", summary="List alerts and test messages, newest first")
def list_deliveries(
    context: Reading, limit: paging.Limit = paging.USUALLY_LISTED, after: paging.After = None
) -> answers.Page[answered.DeliveryRow]:
    names = {one.id: one.name for one in channels.listed(context.engine)}
    found = rows.page(context.engine, AlertDelivery, limit=limit, after=paging.position(after))
    items = [
        answered.DeliveryRow.model_validate(listing.delivery(one, names.get(one.channel_id, "")))
        for one in found.rows
    ]
    return paging.answer(found, items)


def _mail(known: Mail, asked: bodies.Mail) -> Mail:
    """A mail server with what is asked in place of what is known; another encryption has another
    usual port."""
    given = asked.model_dump(exclude_none=True)
    if "recipients" in given:
        given["recipients"] = tuple(given["recipients"])
    if "security" in given:
        given = {"port": None, **given}
    return Mail(**{**asdict(known), **given})


def _channel(one: AlertChannel) -> answered.ChannelRow:
    return answered.ChannelRow.model_validate(listing.channel(one))


def _rule(one: AlertRule, channel: str) -> answered.RuleRow:
    return answered.RuleRow.model_validate(listing.rule(one, channel))
