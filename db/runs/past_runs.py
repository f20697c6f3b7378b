"""What earlier runs took, and which of them a study can count. Nothing here writes."""

from __future__ import annotations

from collections.abc import Mapping
from statistics import median
from typing import Any

from sqlalchemy import Engine
from sqlmodel import col, select

from ganboard.db.engine import reading
from ganboard.db.models import Quality, Run
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


def evaluation_seconds(
    engine: Engine, config: Mapping[str, Any], *, limit: int = 100
) -> tuple[float, int] | None:
    """What the first evaluation of a run with these settings takes, preparation included: the
    median over the newest evaluations of runs that are evaluated like it, and their number. None
    where there is none."""
    alike = ("model", "dataset", "images_path", "quality_images", "quality_features")
    columns: Any = select(Quality.seconds, Quality.preparation_seconds, Run.config)
    newest = columns.join(Run, col(Run.id) == Quality.run_id).order_by(col(Run.created_at).desc())
    with reading(engine) as session:
        rows = session.execute(newest.limit(limit)).all()
    found = [
        (seconds, preparation or 0.0)
        for seconds, preparation, stored in rows
        if all(stored.get(name) == config.get(name) for name in alike)
    ]
    if not found:
        return None
    prepared = [preparation for _, preparation in found if preparation]
    preparing = median(prepared) if prepared else 0.0
    return median(seconds for seconds, _ in found) + preparing, len(found)


def finished_configs(engine: Engine) -> list[tuple[str, dict[str, Any], dict[str, Any]]]:
    """Id, configuration and facts of every run that was finished here and is not archived, the
    newest first."""
    finished = select(Run.id, Run.config, Run.facts).where(
        Run.status == "finished", col(Run.archived_at).is_(None), col(Run.external).is_(False)
    )
    with reading(engine) as session:
        rows = session.execute(finished.order_by(col(Run.created_at).desc()))
        return [(row.id, row.config, row.facts) for row in rows if IMPORTED not in row.facts]


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
