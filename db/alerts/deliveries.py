"""Alerts on their way: found once, claimed by one sender at a time, tried again later and later.

A channel sends one message at a time, and at most PER_MINUTE in a minute: the last one of them sums
up everything that is still waiting. A channel that does not answer delays all that waits for it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, CursorResult, Engine, case, func, update
from sqlalchemy.dialects import postgresql, sqlite
from sqlmodel import Session, col, or_, select

from ganboard.db.clock import now
from ganboard.db.engine import reading, writing
from ganboard.db.ids import new_id
from ganboard.db.models import AlertChannel, AlertDelivery, AlertRule, Run

WAITING = "waiting"
SENT = "sent"
SUMMED_UP = "summed_up"  # sent in the message of another
GAVE_UP = "gave_up"
CANCELLED = "cancelled"  # its channel or rule was switched off
STATES = (WAITING, SENT, SUMMED_UP, GAVE_UP, CANCELLED)

PER_MINUTE = 10  # messages to one channel
CLAIM_SECONDS = 60.0  # a sender that has not answered by then has died
FIRST_PAUSE_SECONDS = 15.0  # doubled with each further try
LONGEST_PAUSE_SECONDS = 3600.0
MAX_TRIES = 12  # about five hours
_INSERT: Any = {"sqlite": sqlite.insert, "postgresql": postgresql.insert}


@dataclass(frozen=True)
class Found:
    """An event of a run that a rule is about; `occurrence` tells it from others of this run."""

    rule: AlertRule
    run_id: str
    occurrence: str
    message: Mapping[str, Any]


@dataclass(frozen=True)
class Claim:
    """The right to send one message: of the first alert, or summing up all of them."""

    channel: AlertChannel
    alerts: tuple[AlertDelivery, ...]
    until: datetime


def record(engine: Engine, found: Sequence[Found], *, rule_ids: Sequence[str], seen: int) -> int:
    """Store what was found, each once however often, and that these rules have seen the events up
    to `seen`; returns how many are new."""
    insert = _INSERT[engine.dialect.name]
    added = 0
    with writing(engine) as session:
        # neither may be removed before this is committed
        rules = select(AlertRule.id).where(col(AlertRule.id).in_(rule_ids))
        runs = select(Run.id).where(col(Run.id).in_({one.run_id for one in found}))
        present = set(session.exec(rules.with_for_update(read=True, key_share=True)))
        present |= set(session.exec(runs.with_for_update(read=True, key_share=True)))
        for one in found:
            if not {one.rule.id, one.run_id} <= present:
                continue
            values = {
                "id": new_id(),
                "channel_id": one.rule.channel_id,
                "rule_id": one.rule.id,
                "run_id": one.run_id,
                "occurrence": one.occurrence,
                "message": dict(one.message),
                "state": WAITING,
                "tries": 0,
                "created_at": now(),
                "next_try_at": now(),
            }
            new = insert(AlertDelivery).values(values).on_conflict_do_nothing()
            added += len(session.execute(new.returning(col(AlertDelivery.id))).all())
        session.execute(
            update(AlertRule)
            .where(col(AlertRule.id).in_(rule_ids), col(AlertRule.seen_event) < seen)
            .values(seen_event=seen)
            .execution_options(synchronize_session=False)
        )
    return added


def begin_test(engine: Engine, channel_id: str) -> str:
    """Note that a person sends a test message, before it is sent, so that nobody sends one who may
    change nothing; returns its id."""
    test = AlertDelivery(channel_id=channel_id, state=GAVE_UP, error="The test was interrupted.")
    test.created_at = test.next_try_at = test.tried_at = now()  # type: ignore[assignment]
    with writing(engine) as session:
        session.add(test)
        return test.id


def end_test(engine: Engine, delivery_id: str, error: str | None) -> None:
    """How the test has ended."""
    sent = {"error": None, "state": SENT, "sent_at": now()}
    values = {"error": error, "tries": 1} if error else sent
    with writing(engine) as session:
        session.execute(
            update(AlertDelivery).where(col(AlertDelivery.id) == delivery_id).values(values)
        )


def claim(engine: Engine) -> Claim | None:
    """Take what is to be sent next: one compare-and-set on the database's clock, under the lock of
    its channel. None if nothing is due."""
    with reading(engine) as session:  # on SQLite a write would lock the database for every poll
        due = session.exec(
            select(AlertDelivery.channel_id)
            .join(AlertChannel, col(AlertChannel.id) == col(AlertDelivery.channel_id))
            .where(*_due(), *_open())
            .group_by(col(AlertDelivery.channel_id))
            .order_by(func.min(AlertDelivery.next_try_at))
        ).all()
    for channel_id in due:
        if (claimed := _claim(engine, channel_id)) is not None:
            return claimed
    return None


def _claim(engine: Engine, channel_id: str) -> Claim | None:
    own = col(AlertDelivery.channel_id) == channel_id
    with writing(engine) as session:
        channel = session.exec(
            select(AlertChannel).where(AlertChannel.id == channel_id, *_open()).with_for_update()
        ).first()
        if channel is None:
            return None
        busy = select(AlertDelivery.id).where(own, col(AlertDelivery.claimed_until) > now())
        if session.exec(busy.limit(1)).first() is not None:
            return None
        recent = select(func.count()).where(own, col(AlertDelivery.tried_at) > now(-60.0))
        free = PER_MINUTE - (session.scalar(recent) or 0)
        if free <= 0:
            return None
        waiting = session.exec(
            select(AlertDelivery)
            .where(own, *_due())
            .order_by(col(AlertDelivery.created_at), col(AlertDelivery.id))
        ).all()
        taken = waiting if free == 1 else waiting[:1]
        if not taken:
            return None
        until: datetime = session.scalar(select(now(CLAIM_SECONDS)))  # type: ignore[assignment]
        for one in taken:
            one.claimed_until = until
        taken[0].tried_at = now()  # type: ignore[assignment]
        return Claim(channel, tuple(taken), until)


def sent(engine: Engine, claimed: Claim) -> bool:
    """The message has arrived, so what waits for another try is due; False if the claim had run
    out."""
    first = col(AlertDelivery.id) == claimed.alerts[0].id
    own = col(AlertDelivery.channel_id) == claimed.channel.id
    with writing(engine) as session:
        if not _write(
            session, claimed, state=case((first, SENT), else_=SUMMED_UP), sent_at=now(), error=None
        ):
            return False
        session.execute(
            update(AlertDelivery)
            .where(own, col(AlertDelivery.state) == WAITING)
            .values(next_try_at=now())
            .execution_options(synchronize_session=False)
        )
        return True


def refused(engine: Engine, claimed: Claim, error: str) -> bool:
    """The receiver will never accept this message; False if the claim had run out."""
    with writing(engine) as session:
        return _write(session, claimed, state=GAVE_UP, error=error)


def failed(engine: Engine, claimed: Claim, error: str, *, pause: float = 0.0) -> bool:
    """The channel does not answer: all that is due is tried again later, or given up after
    MAX_TRIES. Nothing is sent to it for `pause` seconds. False if the claim had run out."""
    tries = claimed.alerts[0].tries + 1
    seconds = max(pause, FIRST_PAUSE_SECONDS * 2.0 ** (tries - 1))
    own = col(AlertDelivery.channel_id) == claimed.channel.id
    over = col(AlertDelivery.tries) + 1 >= MAX_TRIES
    with writing(engine) as session:
        if not _write(session, claimed, error=error):
            return False
        session.execute(
            update(AlertDelivery)
            .where(own, *_due())
            .values(
                tries=col(AlertDelivery.tries) + 1,
                state=case((over, GAVE_UP), else_=WAITING),
                next_try_at=now(min(seconds, LONGEST_PAUSE_SECONDS)),
                error=error,
            )
            .execution_options(synchronize_session=False)
        )
        if pause:
            session.execute(
                update(AlertChannel)
                .where(col(AlertChannel.id) == claimed.channel.id)
                .values(paused_until=now(min(pause, LONGEST_PAUSE_SECONDS)))
            )
        return True


def cancel(session: Session, *, channel_id: str | None = None, rule_id: str | None = None) -> None:
    """Send nothing more of what waits for a channel, or of a rule, within the caller's
    transaction."""
    which = (
        col(AlertDelivery.channel_id) == channel_id
        if channel_id
        else col(AlertDelivery.rule_id) == rule_id
    )
    session.execute(
        update(AlertDelivery)
        .where(which, col(AlertDelivery.state) == WAITING)
        .values(state=CANCELLED, claimed_until=None)
        .execution_options(synchronize_session=False)
    )


def latest(engine: Engine, *, limit: int) -> list[AlertDelivery]:
    """The newest deliveries, the newest first: the order in which they are sent, backwards."""
    with reading(engine) as session:
        newest = select(AlertDelivery).order_by(
            col(AlertDelivery.created_at).desc(), col(AlertDelivery.id).desc()
        )
        return list(session.exec(newest.limit(limit)))


def _due() -> tuple[ColumnElement[bool], ...]:
    claimed_until = col(AlertDelivery.claimed_until)
    return (
        col(AlertDelivery.state) == WAITING,
        col(AlertDelivery.next_try_at) <= now(),
        or_(claimed_until.is_(None), claimed_until <= now()),
    )


def _open() -> tuple[ColumnElement[bool], ...]:
    paused_until = col(AlertChannel.paused_until)
    return col(AlertChannel.enabled).is_(True), or_(paused_until.is_(None), paused_until <= now())


def _claimed(claimed: Claim) -> tuple[ColumnElement[bool], ...]:
    return (
        col(AlertDelivery.id).in_([one.id for one in claimed.alerts]),
        col(AlertDelivery.claimed_until) == claimed.until,
        col(AlertDelivery.state) == WAITING,
    )


def _write(session: Session, claimed: Claim, **values: Any) -> bool:
    """End a claim; False if it is another's by now."""
    result = session.execute(
        update(AlertDelivery)
        .where(*_claimed(claimed))
        .values(claimed_until=None, **values)
        .execution_options(synchronize_session=False)
    )
    assert isinstance(result, CursorResult)
    return bool(result.rowcount)
