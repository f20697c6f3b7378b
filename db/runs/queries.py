"""Runs and what their trainers reported; `series` reads the data of charts. Nothing here writes,
locks or imports pandas."""

from __future__ import annotations

from datetime import datetime
from typing import Any, cast

from sqlalchemy import Engine, func
from sqlalchemy.orm import subqueryload
from sqlmodel import col, exists, select

from ganboard.db import clock
from ganboard.db.engine import reading
from ganboard.db.errors import UnknownRun
from ganboard.db.fence import in_trash
from ganboard.db.models import (
    ACTIVE,
    Checkpoint,
    Epoch,
    Event,
    Grid,
    Quality,
    Run,
    StepLosses,
    StepSeries,
    SystemSample,
)
from ganboard.db.types import Float32s

MAX_ID = 200  # characters: more than any id has, fewer than SQLite's limit for patterns


def find_run(engine: Engine, text: str, *, trash_too: bool = False) -> Run:
    """The run with this id, or the only one whose id begins with `text`; `latest` is the newest
    that is not archived. Runs in the trash are found only `trash_too`.

    Raises UnknownRun.
    """
    prefix = text.strip().lower()[:MAX_ID]
    if prefix == "latest":
        newest = newest_run_id(engine)
        found = get_runs(engine, [newest]) if newest else []
    else:
        found = _beginning(engine, prefix, trash_too=trash_too) if prefix else []
    if len(found) == 1:
        return found[0]
    if found:
        raise UnknownRun(f"More than one run id starts with {text[:80]!r}. Enter more characters.")
    if prefix and len(trashed := _beginning(engine, prefix, trash_too=True)) == 1:
        raise UnknownRun(in_trash(trashed[0].id))
    raise UnknownRun(f"There is no run {text[:80]!r}: `ganboard runs` lists them.")


def _beginning(engine: Engine, prefix: str, *, trash_too: bool) -> list[Run]:
    """Two of the runs whose ids begin so, if there are as many."""
    found = select(Run).where(col(Run.id).startswith(prefix, autoescape=True)).limit(2)
    with reading(engine) as session:
        return list(session.exec(found, execution_options={"trash_too": trash_too}))


def newest_run_id(engine: Engine) -> str | None:
    """The id that `latest` refers to."""
    with reading(engine) as session:
        return session.exec(
            select(Run.id)
            .where(col(Run.archived_at).is_(None))
            .order_by(col(Run.created_at).desc())
            .limit(1)
        ).first()


def get_run(engine: Engine, run_id: str, *, trash_too: bool = False) -> Run | None:
    with reading(engine) as session:
        return session.get(Run, run_id, execution_options={"trash_too": trash_too})


def list_runs(
    engine: Engine,
    *,
    statuses: tuple[str, ...] = (),
    archived: bool = False,
    trash_too: bool = False,
    limit: int | None = None,
    offset: int = 0,
) -> list[Run]:
    """Runs, newest first; including archived ones, and those in the trash, only on request. Tables
    use `listing`, which reads less of each."""
    statement = _in(select(Run), statuses, archived).order_by(
        col(Run.created_at).desc(), col(Run.id)
    )
    chosen = statement.limit(limit).offset(offset)
    with reading(engine) as session:
        return list(session.exec(chosen, execution_options={"trash_too": trash_too}))


def count_runs(engine: Engine, *, statuses: tuple[str, ...] = (), archived: bool = False) -> int:
    """How many runs there are; archived ones count only on request."""
    with reading(engine) as session:
        return session.scalar(_in(select(func.count()).select_from(Run), statuses, archived)) or 0


def states(engine: Engine) -> list[tuple[str, str, int]]:
    """Id, status and finished epochs of every run that is not archived, the oldest first."""
    with reading(engine) as session:
        found = session.execute(
            _in(select(Run.id, Run.status, Run.epoch), (), False).order_by(
                col(Run.created_at), col(Run.id)
            )
        )
        return [(run_id, status, epoch) for run_id, status, epoch in found]


def get_runs(engine: Engine, run_ids: list[str], *, trash_too: bool = False) -> list[Run]:
    """The runs with these ids that exist, in this order."""
    wanted = select(Run).where(col(Run.id).in_(run_ids))
    with reading(engine) as session:
        rows = session.exec(wanted, execution_options={"trash_too": trash_too})
        found = {run.id: run for run in rows}
    return [found[run_id] for run_id in run_ids if run_id in found]


def chart_version(engine: Engine, run_id: str) -> tuple[Any, ...]:
    """Changes whenever a chart of this run would, but for its newest step, which is `Run.step`: a
    key for caches."""
    last = select(func.max(Event.id)).where(Event.run_id == run_id).scalar_subquery()
    evaluated = select(func.max(Quality.made_at)).where(Quality.run_id == run_id).scalar_subquery()
    with reading(engine) as session:
        return tuple(
            session.execute(
                select(Run.attempt, Run.epoch, last, evaluated).where(Run.id == run_id)
            ).one_or_none()
            or ()
        )


def active_runs_of(engine: Engine, worker: str) -> list[Run]:
    """Runs that this worker claimed and has not ended."""
    with reading(engine) as session:
        return list(
            session.exec(select(Run).where(col(Run.status).in_(ACTIVE), Run.worker == worker))
        )


def epochs(engine: Engine, run_id: str, *, after: int = 0) -> list[Epoch]:
    """The finished epochs later than `after`, ascending."""
    with reading(engine) as session:
        return list(
            session.exec(
                select(Epoch)
                .where(Epoch.run_id == run_id, col(Epoch.epoch) > after)
                .order_by(col(Epoch.epoch))
            )
        )


def step_losses(engine: Engine, run_id: str, epoch: int) -> StepLosses | None:
    """The exact losses of every step of one epoch."""
    with reading(engine) as session:
        return session.get(StepLosses, (run_id, epoch))


def step_series(engine: Engine, run_id: str, epoch: int) -> dict[str, Float32s]:
    """The further values of every step of one epoch, by name; NaN for steps of which nothing was
    reported."""
    with reading(engine) as session:
        return {
            row.name: row.values
            for row in session.exec(
                select(StepSeries).where(StepSeries.run_id == run_id, StepSeries.epoch == epoch)
            )
        }


def qualities(engine: Engine, run_id: str, *, after: int = 0) -> list[Quality]:
    """The evaluations of epochs later than `after` with their metrics, ascending."""
    with reading(engine) as session:
        return list(
            session.exec(
                select(Quality)
                .options(subqueryload(cast(Any, Quality.metrics)))
                .where(Quality.run_id == run_id, col(Quality.epoch) > after)
                .order_by(col(Quality.epoch))
            )
        )


def events(
    engine: Engine,
    run_id: str,
    *,
    limit: int | None = 200,
    levels: tuple[str, ...] = (),
    after: int = 0,
) -> list[Event]:
    """The newest events (of these levels, or after the one with this id), newest first; all with
    `limit=None`."""
    found = select(Event).where(Event.run_id == run_id, col(Event.id) > after)
    found = found.order_by(col(Event.id).desc()).limit(limit)
    with reading(engine) as session:
        return list(session.exec(found.where(col(Event.level).in_(levels)) if levels else found))


def checkpoints(engine: Engine, run_id: str) -> list[Checkpoint]:
    with reading(engine) as session:
        return list(
            session.exec(
                select(Checkpoint).where(Checkpoint.run_id == run_id).order_by(col(Checkpoint.step))
            )
        )


def grid_epochs(engine: Engine, run_id: str) -> list[int]:
    """Epochs for which a grid of generated images is stored, ascending; what is stored as epoch -1
    are real images."""
    return [epoch for epoch in grid_attempts(engine, run_id) if epoch >= 0]


def grid_attempts(engine: Engine, run_id: str) -> dict[int, int]:
    """The attempt that drew each stored grid, by epoch, ascending; epoch -1 are real images, the
    first of the data set."""
    with reading(engine) as session:
        rows = session.execute(
            select(Grid.epoch, Grid.attempt).where(Grid.run_id == run_id).order_by(col(Grid.epoch))
        )
        return {row.epoch: row.attempt for row in rows}


def grids(engine: Engine, run_id: str) -> list[Grid]:
    """All grids of a run, ascending by epoch."""
    with reading(engine) as session:
        return list(
            session.exec(select(Grid).where(Grid.run_id == run_id).order_by(col(Grid.epoch)))
        )


def samples(engine: Engine, run_id: str) -> list[SystemSample]:
    """What the trainer used, in order of time."""
    with reading(engine) as session:
        return list(
            session.exec(
                select(SystemSample)
                .where(SystemSample.run_id == run_id)
                .order_by(col(SystemSample.at))
            )
        )


def grid(engine: Engine, run_id: str, epoch: int) -> Grid | None:
    with reading(engine) as session:
        return session.get(Grid, (run_id, epoch))


def database_time(engine: Engine) -> datetime:
    with reading(engine) as session:
        return clock.read(session)


def phase_seconds(engine: Engine, run: Run) -> float | None:
    """For how long a run has been in its phase, by the database's clock; None outside any."""
    if run.phase is None or run.phase_since is None:
        return None
    return max(0.0, (database_time(engine) - run.phase_since).total_seconds())


def sweep_runs(engine: Engine, sweep: str) -> list[Run]:
    """The runs of one grid, in the order in which they were made."""
    with reading(engine) as session:
        return list(
            session.exec(
                select(Run).where(Run.sweep == sweep).order_by(col(Run.created_at), col(Run.number))
            )
        )


def drawable_runs(engine: Engine, *, limit: int) -> list[Run]:
    """The newest runs that have a checkpoint and are not archived."""
    stored = exists().where(col(Checkpoint.run_id) == col(Run.id))
    with reading(engine) as session:
        chosen = (
            select(Run)
            .where(stored, col(Run.archived_at).is_(None))
            .order_by(col(Run.created_at).desc(), col(Run.id))
            .limit(limit)
        )
        return list(session.exec(chosen))


def _in(statement: Any, statuses: tuple[str, ...], archived: bool) -> Any:
    statement = statement if archived else statement.where(col(Run.archived_at).is_(None))
    return statement.where(col(Run.status).in_(statuses)) if statuses else statement
