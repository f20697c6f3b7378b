"""What answers about alerts contain: never a secret."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from pydantic import Field

from ganboard.db.alerts import channels, deliveries, rules
from ganboard.worker.api.answers import Answered

# tuples, as Literal takes them
Kind = Literal[channels.KINDS]  # type: ignore[valid-type]
Event = Literal[rules.EVENTS]  # type: ignore[valid-type]
State = Literal[deliveries.STATES]  # type: ignore[valid-type]


class ChannelRow(Answered):
    """Where alerts are sent."""

    id: str
    name: str
    kind: Kind
    address: str = Field(description="What may be shown of it: host and last four characters.")
    enabled: bool


class Tested(Answered):
    """What became of a test message."""

    sent: bool
    error: str | None


class RuleRow(Answered):
    """What is sent to a channel, and of which runs."""

    id: str
    channel: str = Field(description="Its name.")
    about: str = Field(description="In words.")
    event: Event
    condition: str | None
    minutes: int | None
    search: str | None = Field(description="The runs that it is about; null: all.")
    enabled: bool


class DeliveryRow(Answered):
    """An alert on its way, or a test message."""

    id: str
    channel: str = Field(description="Its name.")
    rule: str | None = Field(description="Null: a test message.")
    run: str | None
    name: str | None = Field(description="Of the run, as it was then.")
    event: str
    state: State
    tries: int = Field(description="That failed.")
    error: str | None
    created_at: datetime
    sent_at: datetime | None
    next_try_at: datetime | None
