"""What alerts say: name, state, reason, metrics and a link, and nothing else of a run."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlencode

from ganboard.db.alerts import rules
from ganboard.db.alerts.deliveries import Claim
from ganboard.db.models import AlertDelivery
from ganboard.db.runs.listing import DISTANCES, Listed
from ganboard.worker import formatting

REASON_LENGTH = 600
SUMMED_UP = 10  # alerts that a summary names
HAPPENED = {
    rules.FAILED: "failed",
    rules.FINISHED: "has finished",
    rules.NOT_FINITE: "has values that are not finite",
    rules.COLLAPSE: "shows mode collapse",
    rules.METRIC: "has reached a condition",
    rules.NO_PROGRESS: "makes no progress",
}
GOOD = (rules.FINISHED, rules.METRIC)


@dataclass(frozen=True)
class Message:
    """One message, whatever the channel; all text is plain."""

    id: str  # the same at every try
    title: str  # one line
    text: str  # may have several lines
    facts: tuple[tuple[str, str], ...]
    link: str  # to the run; empty: none
    good: bool
    alerts: tuple[Mapping[str, Any], ...]  # what programs read


def of_run(run: Listed, event: str, reason: str) -> dict[str, Any]:
    """What is stored of a find, JSON-ready; numbers that JSON lacks are left out."""
    numbers = {
        name: getattr(run, name)
        for name in ("g_loss", "d_loss", *DISTANCES.values(), "images_per_second")
    }
    return {
        "event": event,
        "run": run.id,
        "name": run.name,
        "status": run.status,
        "reason": formatting.shorten(formatting.clean(reason), REASON_LENGTH),
        "epoch": run.epoch,
        "epochs": run.config.get("epochs"),
        "step": run.step,
        "metrics": {
            name: value
            for name, value in numbers.items()
            if value is not None and math.isfinite(value)
        },
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
    }


def of(claimed: Claim, public_url: str) -> Message:
    """The message of one alert, or of several together."""
    first = claimed.alerts[0]
    if len(claimed.alerts) == 1:
        return _single(first, public_url)
    lines = [_title(one.message) for one in claimed.alerts[:SUMMED_UP]]
    more = len(claimed.alerts) - SUMMED_UP
    if more > 0:
        lines.append(f"and {more} more")
    return Message(
        first.id,
        f"{len(claimed.alerts)} further alerts",
        "\n".join(lines),
        (),
        public_url.rstrip("/"),
        all(one.message["event"] in GOOD for one in claimed.alerts),
        tuple(_document(one.message, public_url) for one in claimed.alerts),
    )


def test(message_id: str, public_url: str) -> Message:
    """What a person sends to see whether a channel works."""
    text = "This is a test message of ganboard. Alerts will look like this."
    link = public_url.rstrip("/")
    document = {"event": "test", "at": datetime.now(UTC).isoformat(timespec="seconds")}
    return Message(message_id, "Test message", text, (), link, True, (document,))


def number(value: Any) -> str:
    """A metric in four digits."""
    return f"{value:.4g}" if isinstance(value, int | float) else "unknown"


def _single(alert: AlertDelivery, public_url: str) -> Message:
    said = alert.message
    of_all = f" of {said['epochs']}" if isinstance(said["epochs"], int) else ""
    facts = [("State", str(said["status"])), ("Epoch", f"{said['epoch']}{of_all}")]
    facts += [(name, number(value)) for name, value in said["metrics"].items()]
    return Message(
        alert.id,
        _title(said),
        str(said["reason"]),
        tuple(facts),
        _link(said, public_url),
        said["event"] in GOOD,
        (_document(said, public_url),),
    )


def _title(said: Mapping[str, Any]) -> str:
    return f"{formatting.clean(str(said['name']))} {HAPPENED[said['event']]}"


def _document(said: Mapping[str, Any], public_url: str) -> dict[str, Any]:
    return {**said, "link": _link(said, public_url) or None}


def _link(said: Mapping[str, Any], public_url: str) -> str:
    if not public_url:
        return ""
    return f"{public_url.rstrip('/')}/run?{urlencode({'run': said['run']})}"
