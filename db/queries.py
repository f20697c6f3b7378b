"""Every read but the chart data (`series`). Nothing here writes, locks or imports pandas."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

import numpy as np
import numpy.typing as npt
from sqlalchemy import Engine, func, tuple_
from sqlmodel import col, or_, select
from sqlmodel.sql.sqltypes import UTCDateTime

from db import clock
from db.engine import reading
from db.errors import UnknownRun
from db.models import ACTIVE, WAITING, Checkpoint, Epoch, Event, Grid, Quality, Run, StepLosses, StepSeries, Worker

WORKER_ALIVE_SECONDS = 15.0
OF_SPEED = (  # settings on which the seconds per image depend
    "model", "table1_literal", "discriminator_batch_norm", "batch_size", "accumulate", "d_steps", "loss", "r1", "precision", "xla",
    "strategy", "replicas", "loop", "convolution", "recompute",
)  # fmt: skip
MAX_SEARCH = 200  # characters: more than any name or id has, fewer than SQLite's limit for patterns
QUEUE_ORDER = (col(Run.queued_at), col(Run.created_at))


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
    prefix = text.strip().lower()[:MAX_SEARCH]
    with reading(engine) as session:
        if prefix == "latest":
            found = list(session.exec(select(Run).order_by(col(Run.created_at).desc()).limit(1)))
        else:
            found = list(session.exec(select(Run).where(col(Run.id).startswith(prefix, autoescape=True)).limit(2))) if prefix else []
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
    figures: list[Any] = [func.count(), func.count(col(Run.stop_requested_at)), func.max(Run.queued_at), func.max(Run.phase_since)]
    figures += [func.sum(figure) for figure in (Run.attempt, Run.epoch, Run.step)]
    with reading(engine) as session:
        states = session.execute(select(Run.status, func.count()).group_by(col(Run.status)).order_by(col(Run.status)))
        return (*session.execute(select(*figures)).one(), *map(tuple, states))


def queue_position(engine: Engine, run: Run) -> int:
    """How many waiting runs were queued before this one."""
    earlier = (
        select(func.count())
        .select_from(Run)
        .where(
            col(Run.status).in_(WAITING), tuple_(*QUEUE_ORDER) < tuple_(run.queued_at, run.created_at, types=[UTCDateTime(), UTCDateTime()])
        )
    )
    with reading(engine) as session:
        return session.scalar(earlier) or 0


def waiting_runs(engine: Engine, *, for_seconds: float = 0.0) -> list[Run]:
    """Runs that a worker may start now and that have waited at least so long, the longest first."""
    ripe = select(Run).where(col(Run.status).in_(WAITING), col(Run.queued_at) <= clock.now(-for_seconds))
    with reading(engine) as session:
        return list(session.exec(ripe.order_by(*QUEUE_ORDER)))


def active_runs_of(engine: Engine, worker: str) -> list[Run]:
    """Runs that this worker claimed and has not ended."""
    with reading(engine) as session:
        return list(session.exec(select(Run).where(col(Run.status).in_(ACTIVE), Run.worker == worker)))


def epochs(engine: Engine, run_id: str, *, after: int = 0) -> list[Epoch]:
    """The finished epochs later than `after`, ascending."""
    with reading(engine) as session:
        return list(session.exec(select(Epoch).where(Epoch.run_id == run_id, col(Epoch.epoch) > after).order_by(col(Epoch.epoch))))


def step_losses(engine: Engine, run_id: str, epoch: int) -> StepLosses | None:
    """The exact losses of every step of one epoch."""
    with reading(engine) as session:
        return session.get(StepLosses, (run_id, epoch))


def step_series(engine: Engine, run_id: str, epoch: int) -> dict[str, npt.NDArray[np.float32]]:
    """The further values of every step of one epoch, by name; NaN for steps of which nothing was reported."""
    with reading(engine) as session:
        return {
            row.name: row.values for row in session.exec(select(StepSeries).where(StepSeries.run_id == run_id, StepSeries.epoch == epoch))
        }


def qualities(engine: Engine, run_id: str, *, after: int = 0) -> list[Quality]:
    """The judgements of epochs later than `after`, ascending."""
    with reading(engine) as session:
        return list(session.exec(select(Quality).where(Quality.run_id == run_id, col(Quality.epoch) > after).order_by(col(Quality.epoch))))


def events(engine: Engine, run_id: str, *, limit: int | None = 200) -> list[Event]:
    """The newest events, newest first; all with `limit=None`."""
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


def workers(engine: Engine) -> list[WorkerState]:
    """The workers that were alive within the hour before the newest sign of life, by name."""
    with reading(engine) as session:
        present = clock.read(session)
        return [
            WorkerState(worker, (present - worker.beat_at).total_seconds()) for worker in session.exec(select(Worker).order_by(Worker.name))
        ]


def database_time(engine: Engine) -> datetime:
    with reading(engine) as session:
        return clock.read(session)


def statistics(engine: Engine) -> dict[str, int]:
    """Rows of the tables run, epoch, grid and checkpoint, and the `bytes` of the whole database."""
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
    """Mean training seconds per image of the newest run with the same settings OF_SPEED (on `host`); None if there is none."""
    with reading(engine) as session:
        measured = session.execute(
            select(Run.config, Run.hardware, func.sum(Epoch.seconds), func.sum(Epoch.images))
            .join(Epoch, col(Epoch.run_id) == Run.id)
            .where(col(Run.id).in_(select(Run.id).order_by(col(Run.created_at).desc()).limit(200)))
            .group_by(col(Run.id))
            .order_by(col(Run.created_at).desc())
        ).all()
    for stored, hardware, seconds, images in measured:
        if images and all(stored.get(key) == config.get(key) for key in OF_SPEED) and host in (None, (hardware or {}).get("host")):
            return float(seconds / images)
    return None


def _matching(statement: Any, search: str, statuses: tuple[str, ...]) -> Any:
    search = search.strip()[:MAX_SEARCH]
    if search:
        statement = statement.where(
            or_(col(Run.name).icontains(search, autoescape=True), col(Run.id).startswith(search.lower(), autoescape=True))
        )
    return statement.where(col(Run.status).in_(statuses)) if statuses else statement
