"""The audit log: which changes were asked for through the REST API, by whom, and how they were
answered; and which tokens were made and revoked."""

from __future__ import annotations

from sqlalchemy import Engine, delete
from sqlmodel import Session, col, select

from ganboard.db.clock import now
from ganboard.db.engine import reading, writing
from ganboard.db.models import AuditEntry

KEPT_SECONDS = 400 * 24 * 3600.0
LENGTH = 500  # characters of an action
DONE = 200


def add(
    session: Session, *, who: str, token_id: str | None, action: str, status: int = DONE
) -> None:
    """Record within a transaction of the caller's."""
    entry = AuditEntry(who=who, token_id=token_id, action=action[:LENGTH], status=status)
    entry.at = now()  # type: ignore[assignment]
    session.add(entry)
    session.execute(delete(AuditEntry).where(col(AuditEntry.at) < now(-KEPT_SECONDS)))


def record(engine: Engine, *, who: str, token_id: str | None, action: str, status: int) -> None:
    """Record in a transaction of its own."""
    with writing(engine) as session:
        add(session, who=who, token_id=token_id, action=action, status=status)


def listed(engine: Engine, *, limit: int, before: int | None = None) -> list[AuditEntry]:
    """The newest entries, or the newest of those before one, newest first."""
    wanted = select(AuditEntry).order_by(col(AuditEntry.id).desc()).limit(limit)
    if before is not None:
        wanted = wanted.where(col(AuditEntry.id) < before)
    with reading(engine) as session:
        return list(session.exec(wanted))
