"""What scripts logged, as data of charts: each metric has steps of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from sqlalchemy import Engine
from sqlmodel import Session, col, select

from ganboard.db.curves import timeline
from ganboard.db.engine import reading
from ganboard.db.models import LoggedHistogram, LoggedValues, Run

if TYPE_CHECKING:  # loaded with the first chart: an export needs neither
    import pandas as pd

LOSSES = ("g_loss", "d_loss")  # drawn together, as those of other runs
Floats = npt.NDArray[np.float64]


def names(engine: Engine, run_id: str) -> list[str]:
    """The metrics that a script logged, in alphabetical order."""
    found = select(LoggedValues.name).where(LoggedValues.run_id == run_id).distinct()
    with reading(engine) as session:
        return sorted(session.exec(found))


def latest(engine: Engine, run_id: str) -> dict[str, float]:
    """The value of each metric at its last step, by name in alphabetical order."""
    rows = (
        select(LoggedValues)
        .where(LoggedValues.run_id == run_id)
        .order_by(col(LoggedValues.name), col(LoggedValues.block))
    )
    with reading(engine) as session:
        return {row.name: float(row.values[-1]) for row in session.exec(rows)}


def frame(engine: Engine, run_id: str, name: str, *, points: int = 2000) -> pd.DataFrame:
    """Columns AXES and `value`: a metric at the steps at which it was logged, reduced as
    `series.step_losses` are.

    Training seconds pass from the start of the script; the epoch is NaN where nothing says how many
    steps it has.
    """
    import pandas as pd

    from ganboard.db.curves import reduction

    with reading(engine) as session:
        steps, times, values = read(session, run_id, name)
        kept = reduction.extremes([values], points) if len(steps) else np.zeros(0, np.intp)
        return pd.DataFrame(
            _axes(session, run_id, steps[kept], times[kept]) | {"value": values[kept]}
        )


def losses(
    session: Session, run_id: str
) -> tuple[Callable[[Any], dict[str, Any]], dict[str, Floats]] | None:
    """As `timeline.losses`, of all steps at which the loss of G or of D was logged; None unless
    both were. A step with one of them repeats the latest value of the other."""
    (g_steps, g_times, g), (d_steps, d_times, d) = (read(session, run_id, name) for name in LOSSES)
    if not len(g_steps) or not len(d_steps):
        return None
    steps, first = np.unique(np.concatenate([g_steps, d_steps]), return_index=True)
    times = np.concatenate([g_times, d_times])[first]
    curves = {"g": _held(steps, g_steps, g), "d": _held(steps, d_steps, d)}
    axes = _axes(session, run_id, steps, times)
    return lambda kept: {name: axis[kept] for name, axis in axes.items()}, curves


def histogram_names(engine: Engine, run_id: str) -> list[str]:
    """The names of which a script logged histograms, in alphabetical order."""
    found = select(LoggedHistogram.name).where(LoggedHistogram.run_id == run_id).distinct()
    with reading(engine) as session:
        return sorted(session.exec(found))


def histograms(engine: Engine, run_id: str, name: str | None = None) -> list[LoggedHistogram]:
    """The histograms of one name, or of all, by name and step."""
    wanted = select(LoggedHistogram).where(LoggedHistogram.run_id == run_id)
    if name is not None:
        wanted = wanted.where(LoggedHistogram.name == name)
    with reading(engine) as session:
        ordered = wanted.order_by(col(LoggedHistogram.name), col(LoggedHistogram.step))
        return list(session.exec(ordered))


def rows(engine: Engine, run_id: str) -> Iterator[tuple[str, int, float, float]]:
    """Name, step, time (seconds since 1970) and value of everything that was logged, by name and
    step."""
    for name in names(engine, run_id):
        with reading(engine) as session:
            columns = [column.tolist() for column in read(session, run_id, name)]
        for step, time, value in zip(*columns, strict=True):
            yield name, int(step), time, value


def read(session: Session, run_id: str, name: str) -> tuple[Floats, Floats, Floats]:
    """Steps, times (seconds since 1970) and values [n] of a metric, ascending by step; empty if it
    was never logged."""
    stored = session.exec(
        select(LoggedValues)
        .where(LoggedValues.run_id == run_id, LoggedValues.name == name)
        .order_by(col(LoggedValues.block))
    ).all()
    if not stored:
        return np.zeros(0), np.zeros(0), np.zeros(0)
    return (
        np.concatenate([row.steps for row in stored]),
        np.concatenate([row.times for row in stored]),
        np.concatenate([row.values for row in stored]),
    )


def _held(at: Floats, steps: Floats, values: Floats) -> Floats:
    place = np.searchsorted(steps, at, side="right") - 1
    return values[np.maximum(place, 0)]


def _axes(session: Session, run_id: str, steps: Floats, times: Floats) -> dict[str, Any]:
    columns: Any = select(Run.steps_per_epoch, Run.started_at)
    run = session.execute(columns.where(Run.id == run_id)).one()
    began = run.started_at.timestamp() if run.started_at else 0.0
    return {
        "step": steps,
        "epoch": steps / (run.steps_per_epoch or np.nan),
        "training_seconds": times - began,
        "time": timeline.as_utc(times),
    }
