"""Rules: which events of which runs are sent to a channel."""

from __future__ import annotations

from sqlalchemy import Engine, func, update
from sqlmodel import Session, col, select

from ganboard.db.alerts import deliveries
from ganboard.db.clock import now
from ganboard.db.engine import reading, writing
from ganboard.db.errors import BadAlert, UnknownAlert
from ganboard.db.models import AlertChannel, AlertRule, Event

FAILED = "failed"
FINISHED = "finished"
NOT_FINITE = "nan"
COLLAPSE = "collapse"
METRIC = "metric"
NO_PROGRESS = "no_progress"
EVENTS = (FAILED, FINISHED, NOT_FINITE, COLLAPSE, METRIC, NO_PROGRESS)
RULES = 200


def add(
    engine: Engine,
    *,
    channel_id: str,
    event: str,
    condition: str = "",
    minutes: int | None = None,
    search: str = "",
) -> AlertRule:
    """A new rule, switched on: about what happens from now on. Raises BadAlert and UnknownAlert.

    The caller has checked the values (`worker.alerts.configuration`).
    """
    assert event in EVENTS
    rule = AlertRule(
        channel_id=channel_id, event=event, condition=condition, minutes=minutes, search=search
    )
    with writing(engine) as session:
        if session.get(AlertChannel, channel_id) is None:
            raise UnknownAlert("The channel has been removed.")
        if (session.scalar(select(func.count()).select_from(AlertRule)) or 0) >= RULES:
            raise BadAlert(
                f"There are already {RULES} rules, which is the limit. Remove one first."
            )
        session.add(rule)
        session.flush()
        begin_now(session, rule_id=rule.id)
        session.refresh(rule)
    return rule


def change(
    engine: Engine,
    rule_id: str,
    *,
    channel_id: str,
    event: str,
    condition: str = "",
    minutes: int | None = None,
    search: str = "",
) -> AlertRule:
    """Replace what a rule says, about what happens from now on. Raises UnknownAlert."""
    assert event in EVENTS
    with writing(engine) as session:
        rule = _locked(session, rule_id)
        if session.get(AlertChannel, channel_id) is None:
            raise UnknownAlert("The channel has been removed.")
        rule.channel_id = channel_id
        rule.event = event
        rule.condition = condition
        rule.minutes = minutes
        rule.search = search
        session.flush()
        begin_now(session, rule_id=rule_id)
        session.refresh(rule)
    return rule


def switch(engine: Engine, rule_id: str, *, on: bool) -> None:
    """Switch a rule on or off. What was waiting is cancelled; what happens while it is off is never
    sent. Raises UnknownAlert."""
    with writing(engine) as session:
        rule = _locked(session, rule_id)
        if rule.enabled != on:
            rule.enabled = on
            session.flush()
            deliveries.cancel(session, rule_id=rule_id)
            begin_now(session, rule_id=rule_id)


def remove(engine: Engine, rule_id: str) -> None:
    """Remove a rule with its deliveries. Raises UnknownAlert."""
    with writing(engine) as session:
        session.delete(_locked(session, rule_id))


def begin_now(
    session: Session, *, channel_id: str | None = None, rule_id: str | None = None
) -> None:
    """Let a rule, or all of a channel, be about what happens from now on, within the caller's
    transaction."""
    which = col(AlertRule.channel_id) == channel_id if channel_id else col(AlertRule.id) == rule_id
    newest = session.scalar(select(func.max(Event.id))) or 0
    session.execute(
        update(AlertRule)
        .where(which)
        .values(since=now(), since_event=newest, seen_event=newest)
        .execution_options(synchronize_session=False)
    )


def listed(engine: Engine) -> list[AlertRule]:
    """All rules, in the order in which they were made."""
    with reading(engine) as session:
        return list(
            session.exec(select(AlertRule).order_by(col(AlertRule.created_at), col(AlertRule.id)))
        )


def in_force(engine: Engine) -> list[AlertRule]:
    """The rules that are on, of channels that are on."""
    with reading(engine) as session:
        return list(
            session.exec(
                select(AlertRule)
                .join(AlertChannel, col(AlertChannel.id) == col(AlertRule.channel_id))
                .where(col(AlertRule.enabled), col(AlertChannel.enabled))
            )
        )


def find(engine: Engine, rule_id: str) -> AlertRule:
    """The rule of this id. Raises UnknownAlert."""
    with reading(engine) as session:
        found = session.get(AlertRule, rule_id)
    if found is None:
        raise UnknownAlert(f"There is no rule {rule_id[:80]!r}: `ganboard alerts` lists them.")
    return found


def _locked(session: Session, rule_id: str) -> AlertRule:
    found = session.get(AlertRule, rule_id, with_for_update=True)
    if found is None:
        raise UnknownAlert("The rule has been removed.")
    return found
