"""The audit log keeps what was recorded, and forgets it after its time."""

from __future__ import annotations

from sqlalchemy import Engine, update
from sqlmodel import col, select

from ganboard.db.access import audit
from ganboard.db.clock import now
from ganboard.db.engine import reading, writing
from ganboard.db.models import AuditEntry


def test_entries_are_kept_for_their_time(engine: Engine) -> None:
    for action in ("POST /runs", "x" * 10_000):
        audit.record(engine, who="olga", token_id="t", action=action, status=201)
    with writing(engine) as session:
        old = update(AuditEntry).where(col(AuditEntry.action) == "POST /runs")
        session.execute(old.values(at=now(-audit.KEPT_SECONDS - 1)))
    audit.record(engine, who="otto", token_id=None, action="DELETE /runs/x", status=404)
    with reading(engine) as session:
        found = session.exec(select(AuditEntry).order_by(col(AuditEntry.id))).all()
    assert [(one.who, one.token_id, len(one.action), one.status) for one in found] == [
        ("olga", "t", audit.LENGTH, 201),
        ("otto", None, 14, 404),
    ]
