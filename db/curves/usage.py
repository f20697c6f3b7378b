"""What the processes of a run and the devices of its machine used: reads and writes."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import Engine
from sqlmodel import col, select

from ganboard.db.engine import reading, writing
from ganboard.db.fence import fence
from ganboard.db.models import UsageSample

POINTS = 400  # moments of a chart


def add(engine: Engine, samples: Sequence[UsageSample]) -> None:
    """Store samples of one attempt. Raises LeaseLost."""
    with writing(engine) as session:
        fence(session, samples[0].run_id, samples[0].attempt)
        for sample in samples:
            session.merge(sample)


def of_run(engine: Engine, run_id: str, *, points: int | None = POINTS) -> list[UsageSample]:
    """In order of time and name; of more than `points` moments every n-th, counted from the newest,
    so that it stays."""
    of_this = col(UsageSample.run_id) == run_id
    wanted = select(UsageSample).where(of_this).order_by(col(UsageSample.at), col(UsageSample.name))
    with reading(engine) as session:
        if points is not None:
            at = (
                select(UsageSample.at)
                .where(of_this)
                .distinct()
                .order_by(col(UsageSample.at).desc())
            )
            moments = session.exec(at).all()
            if len(moments) > points:
                chosen = moments[:: -(-len(moments) // points)]
                wanted = wanted.where(col(UsageSample.at).in_(chosen))
        return list(session.exec(wanted))
