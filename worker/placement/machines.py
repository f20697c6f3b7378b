"""What machines have, and whether that is what a run needs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ganboard.db.models import Run, Worker
from ganboard.db.settings import Settings, SettingsError
from ganboard.gan.config import ConfigError, parse
from ganboard.gan.devices import capabilities
from ganboard.gan.needs import BadNeed, Need, Offer
from ganboard.gan.needs import labels as parse_labels
from ganboard.gan.needs import parse as parse_needs


def labels(settings: Settings) -> tuple[str, ...]:
    """What this machine is called, as GANBOARD_LABELS has it. Raises SettingsError."""
    try:
        return parse_labels(settings.labels)
    except BadNeed as error:
        raise SettingsError(f"GANBOARD_LABELS cannot be used: {error}.") from None


def offer(worker: Worker) -> Offer:
    """What the machine of a worker has, by its last heartbeat."""
    return Offer(worker.labels, worker.host, worker.devices)


def terms(run: Run, name: str) -> tuple[Need, ...]:
    """The terms of a stored setting; none where it is not readable, which the trainer refuses."""
    try:
        return parse_needs(str(run.config.get(name) or ""))
    except BadNeed:
        return ()


def has(offered: Offer, needs: Sequence[Need]) -> bool:
    """Whether a machine has all of these."""
    return all(need.met(offered) for need in needs)


def can(run: Run, devices: dict[str, Any] | Mapping[str, Any] | None) -> bool:
    """Whether these devices can run it, as far as is known."""
    try:
        return not devices or capabilities.check(parse(run.config), dict(devices)) is None
    except ConfigError:
        return True
