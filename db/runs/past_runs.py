"""What earlier runs took and reached, and which of them a study can count. Nothing here writes."""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from statistics import median
from typing import TYPE_CHECKING, Any

import orjson
from sqlalchemy import Engine, String, cast, func, or_
from sqlmodel import col, select

from ganboard.db.engine import PORTION, reading
from ganboard.db.models import Epoch, Grid, Metric, Quality, Run
from ganboard.db.runs.forks import FORKED
from ganboard.db.runs.imports import IMPORTED
from ganboard.db.runs.runtime_estimation import Measured

if TYPE_CHECKING:  # commands read what runs took, and need no frames
    import pandas as pd


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


@dataclass(frozen=True, slots=True)
class Evaluated:
    """A run with evaluations, and what its numbers can be compared by."""

    run_id: str
    facts: dict[str, Any]
    hardware: dict[str, Any] | None


def evaluated_runs(engine: Engine, *facts: str) -> list[Evaluated]:
    """Every run that was evaluated, with those of its `facts` that are asked for. Runs on equal
    machines share one `hardware`."""
    # as text: of ten thousand runs few differ, and only those are parsed
    columns: list[Any] = [Run.id, cast(Run.hardware, String)]
    columns += [col(Run.facts)[name].as_string() for name in facts]
    evaluated = select(Quality.run_id).distinct()
    machine = cache(orjson.loads)
    with reading(engine) as session:
        rows: Any = session.execute(
            select(*columns).where(col(Run.id).in_(evaluated)),
            execution_options={"yield_per": PORTION},
        )
        return [
            Evaluated(
                run_id,
                {name: one for name, one in zip(facts, found, strict=True) if one is not None},
                machine(hardware or "null"),
            )
            for run_id, hardware, *found in rows
        ]


# the columns of `improvements` as numpy types, that of the runs as codes
_IMPROVEMENT = {
    "run_id": "i4",
    "epoch": "i4",
    "value": "f8",
    "training_seconds": "f8",
    "submitted_seconds": "f8",
    "steps": "i8",
    "grid": "f4",
}


def improvements(engine: Engine, measure: str, *, lower: bool) -> pd.DataFrame:
    """The evaluations that found a better value than all earlier ones of their runs, ordered by run
    and epoch: run_id, epoch, value, training_seconds, submitted_seconds (from the run's submission
    to the end of the epoch), steps (finished by then; 0 where the run does not say how many an
    epoch has), grid (the epoch of its newest image grid by then, NaN without any).

    What is not finite improves nothing; `lower` values are better, or else higher ones.
    """
    import numpy as np  # noqa: PLC0415
    import pandas as pd  # noqa: PLC0415

    value = col(Metric.value)
    best = (func.min if lower else func.max)(value)
    found = (
        select(  # type: ignore[call-overload]
            Quality.run_id,
            Quality.epoch,
            value.label("value"),
            Quality.training_seconds,
            func.coalesce(Epoch.finished_at, Quality.made_at).label("trained_at"),
            Run.created_at,
            func.coalesce(Run.steps_per_epoch, 0).label("steps"),
            best.over(
                partition_by=col(Quality.run_id), order_by=col(Quality.epoch), rows=(None, -1)
            ).label("before"),
        )
        .join(Quality, (Quality.run_id == Metric.run_id) & (Quality.epoch == Metric.epoch))
        .join(Run, Run.id == Quality.run_id)
        # a checkpoint may be evaluated long after its epoch
        .outerjoin(Epoch, (Epoch.run_id == Quality.run_id) & (Epoch.epoch == Quality.epoch))
        .where(Metric.name == measure, value.between(-sys.float_info.max, sys.float_info.max))
        .subquery()
    )
    grid = (
        select(func.max(Grid.epoch))
        .where(Grid.run_id == found.c.run_id, Grid.epoch >= 0, Grid.epoch <= found.c.epoch)
        .scalar_subquery()
    )
    improves = found.c.value < found.c.before if lower else found.c.value > found.c.before
    better: Any = (
        select(found, grid)
        .where(or_(found.c.before.is_(None), improves))
        .order_by(found.c.run_id, found.c.epoch)
    )
    ids: dict[str, int] = {}

    def packed(rows: Sequence[Any]) -> Any:
        made = [
            (
                ids.setdefault(sys.intern(run_id), len(ids)),
                epoch,
                value,
                seconds,
                max(0.0, (trained_at - created_at).total_seconds()),
                epoch * steps,
                math.nan if grid is None else grid,
            )
            for run_id, epoch, value, seconds, trained_at, created_at, steps, _, grid in rows
        ]
        return np.array(made, dtype=list(_IMPROVEMENT.items()))

    with reading(engine) as session:
        # in portions: all rows as objects would be more than their frame
        rows = session.execute(better, execution_options={"yield_per": PORTION})
        whole = np.concatenate([packed([]), *map(packed, rows.partitions())])
    # as numbers, and their names as objects: Arrow's strings are copied by everything that looks
    # something up by them
    runs = pd.Categorical.from_codes(whole["run_id"], pd.Index(list(ids), dtype=object))
    return pd.DataFrame({name: whole[name] for name in _IMPROVEMENT} | {"run_id": runs})


def evaluations_version(engine: Engine) -> tuple[Any, ...]:
    """Changes with every evaluation: a cheap key for caches, beside that of the runs."""
    newest = select(func.count(), func.max(Quality.made_at))
    with reading(engine) as session:
        return tuple(session.execute(newest).one())
