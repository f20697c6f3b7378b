"""Every read but the chart data (`series`). Nothing here writes, locks or imports pandas."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Engine, func
from sqlmodel import Session, col, or_, select

from db import clock
from db.engine import reading
from db.errors import UnknownRun
from db.models import ACTIVE, ENDED, WAITING, Checkpoint, Epoch, Event, Grid, Run, SystemSample, Worker

WORKER_ALIVE_SECONDS = 15.0


@dataclass(frozen=True)
class WorkerState:
    """A worker and the age of its last sign of life, by the database's clock."""

    worker: Worker
    age_seconds: float

    @property
    def alive(self) -> bool:
        return self.age_seconds < WORKER_ALIVE_SECONDS


def find_run(engine: Engine, text: str) -> Run:
    """The run with this id, or the only one whose id begins with `text`; `latest` is the newest. Raises UnknownRun."""
    with reading(engine) as session:
        if text == "latest":
            found = list(session.exec(select(Run).order_by(col(Run.created_at).desc()).limit(1)))
        else:
            found = list(session.exec(select(Run).where(col(Run.id).startswith(text, autoescape=True)).limit(2))) if text else []
            found = [run for run in found if run.id == text] or found
    if len(found) == 1:
        return found[0]
    if found:
        raise UnknownRun(f"More than one run id begins with {text[:80]!r}: type more of it.")
    raise UnknownRun(f"There is no run {text[:80]!r}: `ganboard runs` lists them.")


def get_run(engine: Engine, run_id: str) -> Run | None:
    with reading(engine) as session:
        return session.get(Run, run_id)


def list_runs(engine: Engine, *, search: str = "", statuses: tuple[str, ...] = (), limit: int | None = None, offset: int = 0) -> list[Run]:
    """Runs, newest first; `search` is looked for in id and name, case-insensitively."""
    statement = _matching(select(Run), search, statuses).order_by(col(Run.created_at).desc(), col(Run.id))
    with reading(engine) as session:
        return list(session.exec(statement.limit(limit).offset(offset)))


def count_runs(engine: Engine, *, search: str = "", statuses: tuple[str, ...] = ()) -> int:
    with reading(engine) as session:
        return session.scalar(_matching(select(func.count()).select_from(Run), search, statuses)) or 0


def get_runs(engine: Engine, run_ids: list[str]) -> list[Run]:
    """The runs with these ids that exist, in this order."""
    with reading(engine) as session:
        found = {run.id: run for run in session.exec(select(Run).where(col(Run.id).in_(run_ids)))}
    return [found[run_id] for run_id in run_ids if run_id in found]


def runs_version(engine: Engine) -> tuple[Any, ...]:
    """Changes whenever a list of runs would look different: a cheap key for caches."""
    with reading(engine) as session:
        return tuple(
            session.execute(select(func.count(), func.sum(Run.step), func.sum(Run.attempt), func.max(Run.queued_at))).one()
        ) + tuple(session.execute(select(Run.status, func.count()).group_by(col(Run.status)).order_by(col(Run.status))))


def queue_position(engine: Engine, run: Run) -> int:
    """How many waiting runs were queued before this one."""
    with reading(engine) as session:
        earlier = select(func.count()).select_from(Run).where(col(Run.status).in_(WAITING), col(Run.queued_at) < run.queued_at)
        return session.scalar(earlier) or 0


def waiting_runs(engine: Engine, *, for_seconds: float = 0.0) -> list[Run]:
    """Runs that a worker may start now and that have waited at least so long, the longest first."""
    ripe = select(Run).where(col(Run.status).in_(WAITING), col(Run.queued_at) <= clock.now(-for_seconds))
    with reading(engine) as session:
        return list(session.exec(ripe.order_by(col(Run.queued_at))))


def active_runs_of(engine: Engine, worker: str) -> list[Run]:
    """Runs that this worker claimed and has not ended."""
    with reading(engine) as session:
        return list(session.exec(select(Run).where(col(Run.status).in_(ACTIVE), Run.worker == worker)))


def epochs(engine: Engine, run_id: str) -> list[Epoch]:
    with reading(engine) as session:
        return list(session.exec(select(Epoch).where(Epoch.run_id == run_id).order_by(col(Epoch.epoch))))


def events(engine: Engine, run_id: str, *, limit: int = 200) -> list[Event]:
    """The newest events, newest first."""
    with reading(engine) as session:
        return list(session.exec(select(Event).where(Event.run_id == run_id).order_by(col(Event.id).desc()).limit(limit)))


def checkpoints(engine: Engine, run_id: str) -> list[Checkpoint]:
    with reading(engine) as session:
        return list(session.exec(select(Checkpoint).where(Checkpoint.run_id == run_id).order_by(col(Checkpoint.step))))


def grid_epochs(engine: Engine, run_id: str) -> list[int]:
    """Epochs for which a grid is stored, ascending."""
    with reading(engine) as session:
        return list(session.exec(select(Grid.epoch).where(Grid.run_id == run_id).order_by(col(Grid.epoch))))


def grid(engine: Engine, run_id: str, epoch: int) -> Grid | None:
    with reading(engine) as session:
        return session.get(Grid, (run_id, epoch))


def samples(engine: Engine, run_id: str, *, limit: int = 1000) -> list[SystemSample]:
    """The newest system samples, in order of time."""
    newest = select(SystemSample).where(SystemSample.run_id == run_id).order_by(col(SystemSample.at).desc()).limit(limit)
    with reading(engine) as session:
        return list(session.exec(newest))[::-1]


def workers(engine: Engine) -> list[WorkerState]:
    """All workers of the last hour, by name."""
    with reading(engine) as session:
        present = clock.read(session)
        return [
            WorkerState(worker, (present - worker.beat_at).total_seconds()) for worker in session.exec(select(Worker).order_by(Worker.name))
        ]


def database_time(engine: Engine) -> datetime:
    with reading(engine) as session:
        return _time(session)


def statistics(engine: Engine) -> dict[str, int]:
    """Rows and bytes: runs, epochs, grids, and the size of the database."""
    with reading(engine) as session:
        size = (
            "SELECT page_count * page_size FROM pragma_page_count(), pragma_page_size()"
            if engine.dialect.name == "sqlite"
            else "SELECT pg_database_size(current_database())"
        )
        counts = {
            table.__tablename__: session.scalar(select(func.count()).select_from(table)) or 0 for table in (Run, Epoch, Grid, Checkpoint)
        }
        return {**counts, "bytes": int(session.connection().exec_driver_sql(size).scalar_one())}


def seconds_per_image(engine: Engine, config: dict[str, Any], *, host: str | None = None) -> float | None:
    """Mean training seconds per image of the newest runs with the same speed-relevant settings; None if there are none."""
    same = ("model", "table1_literal", "d_steps", "batch_size", "precision", "xla", "strategy", "replicas", "loop")
    with reading(engine) as session:
        measured = session.execute(
            select(Run.config, Run.hardware, func.sum(Epoch.seconds), func.sum(Epoch.images))
            .join(Epoch, col(Epoch.run_id) == Run.id)
            .where(col(Run.id).in_(select(Run.id).order_by(col(Run.created_at).desc()).limit(200)))
            .group_by(col(Run.id))
            .order_by(col(Run.created_at).desc())
        ).all()
    for stored, hardware, seconds, images in measured:
        if images and all(stored.get(key) == config.get(key) for key in same) and host in (None, (hardware or {}).get("host")):
            return float(seconds / images)
    return None


def has_ended(run: Run) -> bool:
    return run.status in ENDED


def _matching(statement: Any, search: str, statuses: tuple[str, ...]) -> Any:
    if search:
        statement = statement.where(
            or_(col(Run.name).icontains(search, autoescape=True), col(Run.id).startswith(search.lower(), autoescape=True))
        )
    return statement.where(col(Run.status).in_(statuses)) if statuses else statement


def _time(session: Session) -> datetime:
    value = clock.read(session)
    assert isinstance(value, datetime)
    return value
