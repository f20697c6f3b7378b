"""Channels: where alerts are sent.

The secret of a channel is a row of its own. `secret` alone reads it, for the process that sends.
"""

from __future__ import annotations

import unicodedata
from typing import Any

from sqlalchemy import Engine, func
from sqlmodel import Session, col, or_, select

from ganboard.db.alerts import deliveries, rules
from ganboard.db.engine import clear_errors, reading, writing
from ganboard.db.errors import BadAlert, UnknownAlert
from ganboard.db.models import AlertChannel, AlertSecret
from ganboard.db.text_validation import invisible

KINDS = ("slack", "teams", "discord", "webhook", "email")
NAME_LENGTH = 40
CHANNELS = 50


def add(
    engine: Engine, *, name: str, kind: str, masked: str, options: dict[str, Any], secret: str
) -> AlertChannel:
    """A new channel, switched on. Raises BadAlert."""
    assert kind in KINDS
    channel = AlertChannel(name=_checked(name), kind=kind, masked=masked, options=options)
    # an error of the database would name the values, and so the secret
    with clear_errors(engine), writing(engine) as session:
        _check_free(session, channel.name)
        if (session.scalar(select(func.count()).select_from(AlertChannel)) or 0) >= CHANNELS:
            raise BadAlert(
                f"There are already {CHANNELS} channels, which is the limit. Remove one first."
            )
        session.add(channel)
        session.flush()
        session.add(AlertSecret(channel_id=channel.id, value=secret))
    return channel


def change(
    engine: Engine,
    channel_id: str,
    *,
    name: str,
    masked: str,
    options: dict[str, Any],
    secret: str | None,
) -> AlertChannel:
    """Replace what a channel has; without a `secret` it keeps its own. Raises BadAlert and
    UnknownAlert."""
    name = _checked(name)
    with clear_errors(engine), writing(engine) as session:
        channel = _locked(session, channel_id)
        if name != channel.name:
            _check_free(session, name)
        channel.name = name
        channel.masked = masked
        channel.options = options
        if secret is not None:
            session.merge(AlertSecret(channel_id=channel_id, value=secret))
    return channel


def switch(engine: Engine, channel_id: str, *, on: bool) -> None:
    """Switch a channel on or off. What was waiting is cancelled; what happens while it is off is
    never sent. Raises UnknownAlert."""
    with writing(engine) as session:
        channel = _locked(session, channel_id)
        if channel.enabled != on:
            channel.enabled = on
            deliveries.cancel(session, channel_id=channel_id)
            rules.begin_now(session, channel_id=channel_id)


def remove(engine: Engine, channel_id: str) -> None:
    """Remove a channel with its secret, rules and deliveries. Raises UnknownAlert."""
    with writing(engine) as session:
        session.delete(_locked(session, channel_id))


def listed(engine: Engine) -> list[AlertChannel]:
    """All channels, by name."""
    with reading(engine) as session:
        return list(session.exec(select(AlertChannel).order_by(func.lower(AlertChannel.name))))


def any_listed(engine: Engine) -> bool:
    """Whether there is a channel, on or off."""
    with reading(engine) as session:
        return session.exec(select(AlertChannel.id).limit(1)).first() is not None


def find(engine: Engine, name: str) -> AlertChannel:
    """The channel of this name or id. Raises UnknownAlert."""
    with reading(engine) as session:
        found = session.exec(
            select(AlertChannel).where(or_(col(AlertChannel.id) == name, AlertChannel.name == name))
        ).first()
    if found is None:
        raise UnknownAlert(f"There is no channel {name[:80]!r}: `ganboard alerts` lists them.")
    return found


def secret(engine: Engine, channel_id: str) -> str:
    """For the process that sends, and nobody else. Raises UnknownAlert."""
    with reading(engine) as session:
        found = session.get(AlertSecret, channel_id)
    if found is None:
        raise UnknownAlert("The channel has no address. Enter it again.")
    return found.value


def _locked(session: Session, channel_id: str) -> AlertChannel:
    found = session.get(AlertChannel, channel_id, with_for_update=True)
    if found is None:
        raise UnknownAlert("The channel has been removed.")
    return found


def _check_free(session: Session, name: str) -> None:
    if session.exec(select(AlertChannel.id).where(AlertChannel.name == name)).first():
        raise BadAlert(f"A channel named {name!r} already exists. Choose another name.")


def _checked(text: str) -> str:
    """The name in Unicode NFC, without surrounding blanks. Raises BadAlert."""
    name = unicodedata.normalize("NFC", text).strip()
    if not 1 <= len(name) <= NAME_LENGTH:
        raise BadAlert(
            f"The name of the channel has {len(name)} characters. Enter 1 to {NAME_LENGTH}."
        )
    if bad := invisible(name):
        raise BadAlert(
            f"The name of the channel contains the invisible or control character {bad}. Remove it."
        )
    return name
