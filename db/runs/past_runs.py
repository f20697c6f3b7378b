"""What earlier runs took, and which of them a study can count. Nothing here writes."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Engine
from sqlmodel import col, select

from ganboard.db.engine import reading
from ganboard.db.models import Run
from ganboard.db.runs.forks import FORKED
from ganboard.db.runs.imports import IMPORTED
from ganboard.db.runs.runtime_estimation import Measured


def measured_runs(engine: Engine, *, limit: int = 300) -> list[Measured]:
    """What the newest runs with finished epochs took, the newest first."""
    columns = (
        Run.config,
        Run.hardware,
        Run.seconds,
        Run.epoch,
        Run.steps_per_epoch,
        Run.status,
        Run.attempt,
        Run.started_at,
        Run.ended_at,
        Run.facts,
    )
    measured: Any = select(*columns)  # type: ignore[call-overload]
    measured = measured.where(col(Run.epoch) > 0, col(Run.external).is_(False))
    measured = measured.order_by(col(Run.created_at).desc()).limit(limit)
    with reading(engine) as session:
        rows = session.execute(measured).all()
    found = []
    for run in rows:
        if not isinstance(run.config.get("batch_size"), int):  # no ganboard wrote this
            continue
        if FORKED in run.facts:  # some of its seconds are those of another run
            continue
        images = run.epoch * (run.steps_per_epoch or 0) * run.config.get("batch_size", 0)
        whole = run.status == "finished" and run.attempt == 1
        beside = (run.ended_at - run.started_at).total_seconds() - run.seconds if whole else -1.0
        found.append(
            Measured(
                run.config,
                (run.hardware or {}).get("host", ""),
                run.seconds,
                images,
                beside if beside >= 0 else None,
            )
        )
    return found


def finished_configs(engine: Engine) -> list[tuple[str, dict[str, Any], dict[str, Any]]]:
    """Id, configuration and facts of every run that was finished here and is not archived, the
    newest first. Forks are left out: their settings do not hold for all of their epochs."""
    finished = select(Run.id, Run.config, Run.facts).where(
        Run.status == "finished", col(Run.archived_at).is_(None), col(Run.external).is_(False)
    )
    with reading(engine) as session:
        rows = session.execute(finished.order_by(col(Run.created_at).desc()))
        return [
            (row.id, row.config, row.facts)
            for row in rows
            if IMPORTED not in row.facts and FORKED not in row.facts
        ]


def imported_runs(engine: Engine) -> list[Run]:
    """The finished runs of other machines that are not archived, in the order in which they were
    made."""
    finished = (
        select(Run)
        .where(
            Run.status == "finished", col(Run.archived_at).is_(None), col(Run.external).is_(False)
        )
        .order_by(col(Run.created_at))
    )
    with reading(engine) as session:
        return [run for run in session.exec(finished) if IMPORTED in run.facts]
