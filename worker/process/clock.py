"""This machine's clock against the database's, which alone decides about leases and the queue. A
wrong one misleads readers of pages and logs, and S3 refuses what it has signed."""

from __future__ import annotations

from datetime import UTC, datetime

from sqlalchemy import Engine

from ganboard.db.runs import queries

WARN_SECONDS = 60.0
REMEDY = "Synchronize both with NTP."


def difference(engine: Engine) -> float:
    """Seconds that the database's clock is ahead, to within half of the time that a query takes."""
    before = datetime.now(UTC)
    there = queries.database_time(engine)
    return (there - before - (datetime.now(UTC) - before) / 2).total_seconds()


def described(seconds: float) -> str:
    """A difference in words."""
    how = "ahead of" if seconds > 0 else "behind"
    return f"the database's clock is {abs(seconds):,.1f} s {how} this machine's"


def warning(engine: Engine) -> str | None:
    """What a worker says at its start where the clocks differ much."""
    seconds = difference(engine)
    if abs(seconds) <= WARN_SECONDS:
        return None
    said = described(seconds)
    return f"{said[:1].upper()}{said[1:]}: times in pages and logs are wrong. {REMEDY}"
