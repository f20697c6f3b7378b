"""One number per run of any stored metric, for columns of lists: its last, its smallest and its
largest value so far, found by the database wherever it can see them."""

from __future__ import annotations

import math
import sys
from collections.abc import Collection, Iterable, Mapping
from typing import Any

from sqlalchemy import Engine, and_, func, tuple_
from sqlmodel import Session, col, select

from ganboard.db.curves.stored import OF_EPOCHS, RATE
from ganboard.db.engine import reading
from ganboard.db.models import Epoch, LoggedValues, Metric, Run, StepSeries

Summary = tuple[str, str]  # "last", "min" or "max", and of which metric
LAST = "last"
# whose last value is part of the run
OF_RUNS = {
    "g_loss": Run.g_loss,
    "d_loss": Run.d_loss,
    "epoch": Run.epoch,
    "step": Run.step,
    "seconds": Run.seconds,
    "examples": Run.examples,
    "g_parameters": Run.g_parameters,
    "d_parameters": Run.d_parameters,
}
_LARGEST = sys.float_info.max


def known(engine: Engine, measures: Iterable[str]) -> list[str]:
    """The metrics that a column can be of; `measures` are those of epochs beside OF_EPOCHS."""
    with reading(engine) as session:
        stored: list[str] = []
        for column in (Metric.name, StepSeries.name, LoggedValues.name):
            stored += sorted(session.exec(select(column).distinct()))
    return list(dict.fromkeys([*OF_RUNS, RATE, *OF_EPOCHS, *measures, *stored]))


def read(
    engine: Engine,
    wanted: Collection[Summary],
    measures: Collection[str],
    run_ids: list[str] | None = None,
) -> dict[Summary, dict[str, float]]:
    """By run id, for those of the runs that have one; of all runs if none are named. What is not
    finite does not count. `measures` as for `known`.

    OF_RUNS, and metrics of every step but those of scripts, have their last value alone.
    """
    found: dict[Summary, dict[str, float]] = {}
    with reading(engine) as session:
        for one in dict.fromkeys(wanted):
            values = _found(session, one, measures, run_ids)
            values |= _logged(session, one, run_ids)
            if one[0] == LAST:
                values |= _series(session, one[1], run_ids)
            found[one] = values
    return found


def _statement(wanted: Summary, measures: Collection[str]) -> tuple[Any, Any] | None:
    """The column of the run's id, and what selects it with a number; None where nothing does."""
    function, name = wanted
    if name in OF_RUNS or (name == RATE and function == LAST):
        value = OF_RUNS.get(name, Run.images_per_second)
        return (Run.id, select(Run.id, value)) if function == LAST else None
    if name == RATE or name in OF_EPOCHS or name in measures:
        return Epoch.run_id, _of_epochs(function, name)
    return Metric.run_id, _of_evaluations(function, name)


def _of_epochs(function: str, name: str) -> Any:
    if name == RATE:
        value: Any = col(Epoch.images) / func.nullif(col(Epoch.seconds), 0.0)
    elif name in OF_EPOCHS:
        value = col(OF_EPOCHS[name])
    else:
        value = col(Epoch.measures)[name].as_float()
    if function == LAST:
        newest = select(Run.id, Run.epoch)
        return select(Epoch.run_id, value).where(tuple_(Epoch.run_id, Epoch.epoch).in_(newest))
    found = select(Epoch.run_id, getattr(func, function)(value)).group_by(col(Epoch.run_id))
    # JSON has finite numbers alone
    return found.where(_finite(value)) if name == RATE or name in OF_EPOCHS else found


def _of_evaluations(function: str, name: str) -> Any:
    own = col(Metric.name) == name
    if function == LAST:
        newest = select(Metric.run_id, func.max(Metric.epoch)).where(own)
        newest = newest.group_by(col(Metric.run_id))
        at_end = tuple_(Metric.run_id, Metric.epoch).in_(newest)
        return select(Metric.run_id, Metric.value).where(own, at_end)
    found = select(Metric.run_id, getattr(func, function)(col(Metric.value)))
    return found.where(own, _finite(col(Metric.value))).group_by(col(Metric.run_id))


def _finite(value: Any) -> Any:
    """NaN is above all numbers, in SQLite as a text."""
    return value.between(-_LARGEST, _LARGEST)


def _found(
    session: Session, wanted: Summary, measures: Collection[str], run_ids: list[str] | None
) -> dict[str, float]:
    source = _statement(wanted, measures)
    if source is None:
        return {}
    run_id, statement = source
    if run_ids is not None:
        statement = statement.where(col(run_id).in_(run_ids))
    return {
        one: float(number)
        for one, number in session.execute(statement)
        if number is not None and math.isfinite(number)
    }


def _logged(session: Session, wanted: Summary, run_ids: list[str] | None) -> Mapping[str, float]:
    """Of a metric of scripts, whose values are packed."""
    import numpy as np  # noqa: PLC0415  # which few lists need

    function, name = wanted
    columns: Any = (LoggedValues.run_id, LoggedValues.values)
    rows = select(*columns).where(col(LoggedValues.name) == name)
    if function == LAST:
        last = (
            select(LoggedValues.run_id, func.max(LoggedValues.block).label("block"))
            .where(col(LoggedValues.name) == name)
            .group_by(col(LoggedValues.run_id))
            .subquery()
        )
        newest = and_(last.c.run_id == LoggedValues.run_id, last.c.block == LoggedValues.block)
        rows = rows.join(last, newest)
    if run_ids is not None:
        rows = rows.where(col(LoggedValues.run_id).in_(run_ids))
    found: dict[str, float] = {}
    for run_id, values in session.execute(rows):
        finite = values[np.isfinite(values)]
        if function == LAST:
            finite = values[-1:][np.isfinite(values[-1:])]
        if not len(finite):
            continue
        own = float(finite.max() if function == "max" else finite.min())
        before = found.get(run_id, own)
        found[run_id] = max(before, own) if function == "max" else min(before, own)
    return found


def _series(session: Session, name: str, run_ids: list[str] | None) -> dict[str, float]:
    """The last value of a series of every step."""
    columns: Any = (StepSeries.run_id, StepSeries.values)
    last = (
        select(StepSeries.run_id, func.max(StepSeries.epoch).label("epoch"))
        .where(col(StepSeries.name) == name)
        .group_by(col(StepSeries.run_id))
        .subquery()
    )
    at_end = and_(last.c.run_id == StepSeries.run_id, last.c.epoch == StepSeries.epoch)
    rows = select(*columns).join(last, at_end).where(col(StepSeries.name) == name)
    if run_ids is not None:
        rows = rows.where(col(StepSeries.run_id).in_(run_ids))
    return {run_id: float(values[-1]) for run_id, values in session.execute(rows) if len(values)}
