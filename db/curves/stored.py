"""Everything that is stored of a run over its steps, by name: the source of panels.

Values come without pandas, as they are stored, each with the step that it belongs to.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from sqlalchemy import Engine, func
from sqlmodel import Session, col, select

from ganboard.db.curves import logged, timeline
from ganboard.db.curves.timeline import Timeline
from ganboard.db.engine import reading
from ganboard.db.models import (
    Epoch,
    LoggedValues,
    Metric,
    Quality,
    Run,
    StepLosses,
    StepSeries,
    SystemSample,
)

Floats = npt.NDArray[np.float64]
# how often a metric has a value
Cadence = Literal["step", "epoch", "evaluation", "sample", "logged"]
LOSSES = ("g_loss", "d_loss")  # of every step
AXES = ("step", "epoch", "images", "seconds")  # metrics that every point of a run has
TIME = "time"  # UTC, for an x axis alone
# of every epoch, by the columns that they are stored in
OF_EPOCHS = {
    "g_loss_mean": Epoch.g_loss,
    "d_loss_mean": Epoch.d_loss,
    "epoch_seconds": Epoch.seconds,
    "compile_seconds": Epoch.compile_seconds,
    "g_x": Epoch.g_x,
    "g_y": Epoch.g_y,
    "d_x": Epoch.d_x,
    "d_y": Epoch.d_y,
}
RATE = "images_per_second"  # of every epoch, from two columns
# which a script does not report
OF_TRAINERS = ("compile_seconds", "g_x", "g_y", "d_x", "d_y")
OF_EVALUATIONS = ("evaluation_seconds",)
OF_SAMPLES = ("cpu_percent", "rss_bytes", "memory_percent", "gpu_percent", "gpu_memory_bytes")


@dataclass(frozen=True)
class Curve:
    """The values [n] of one metric and the steps [n], ascending and counted from 1, that each
    belongs to."""

    cadence: Cadence
    steps: Floats
    values: Floats


@dataclass(frozen=True)
class Stored:
    """Metrics of a run by name, and what places their steps."""

    curves: Mapping[str, Curve]
    per_epoch: int | None  # steps; None: the run has no epochs
    images_per_step: float | None
    timeline: Timeline | None
    clock: tuple[Floats, Floats] | None  # of a script: steps, and their times since 1970
    began: float  # since 1970
    external: bool = False  # a script trains it

    def axis(self, name: str, steps: Floats) -> Floats | None:
        """One of AXES at these steps [n]; None where it is not known."""
        if name == "step":
            return steps
        if name == "epoch":
            return steps / self.per_epoch if self.per_epoch else None
        if name == "images":
            return steps * self.images_per_step if self.images_per_step else None
        if self.clock is not None:
            return np.interp(steps, *self.clock) - self.began
        return self.timeline.training_seconds(steps) if self.timeline else None

    def time(self, steps: Floats) -> npt.NDArray[np.datetime64] | None:
        """UTC to the millisecond; None where it is not known."""
        if self.clock is not None:
            return timeline.as_utc(np.interp(steps, *self.clock))
        return self.timeline.time(steps) if self.timeline else None


def available(engine: Engine, run_ids: Iterable[str]) -> dict[str, Cadence]:
    """What is stored of any of the runs, without AXES: by name, in the order of cadences."""
    found: dict[str, Cadence] = {}
    with reading(engine) as session:
        for run_id in run_ids:
            for name, cadence in _names(session, run_id).items():
                found.setdefault(name, cadence)
    return found


def read(engine: Engine, run_id: str, names: Iterable[str]) -> Stored:
    """These metrics of a run; those that it does not have are left out."""
    with reading(engine) as session:
        run = session.execute(_PLACED.where(col(Run.id) == run_id)).one_or_none()
        if run is None:
            return Stored({}, None, None, None, None, 0.0)
        clock = _clock(session, run_id) if run.external else None
        times = None if run.external else timeline.read(session, run_id)
        stored = Stored(
            curves={},
            per_epoch=run.steps_per_epoch,
            images_per_step=_images(session, run_id, run),
            timeline=times,
            clock=clock,
            began=run.started_at.timestamp() if run.started_at else 0.0,
            external=run.external,
        )
        curves = {name: _curve(session, run_id, name, stored) for name in dict.fromkeys(names)}
    kept = {name: curve for name, curve in curves.items() if curve is not None}
    return replace(stored, curves=kept)


_columns: Any = (Run.steps_per_epoch, Run.started_at, Run.external, Run.config)
_PLACED = select(*_columns)


def _names(session: Session, run_id: str) -> dict[str, Cadence]:
    def any_of(table: Any) -> bool:
        return (
            session.exec(select(table.run_id).where(table.run_id == run_id).limit(1)).first()
            is not None
        )

    def distinct(column: Any, table: Any) -> list[str]:
        return sorted(session.exec(select(column).where(table.run_id == run_id).distinct()))

    found: dict[str, Cadence] = {}
    if any_of(StepLosses):
        found |= dict.fromkeys(LOSSES, "step")
    found |= dict.fromkeys(distinct(StepSeries.name, StepSeries), "step")
    if any_of(Epoch):
        measures = session.exec(select(Epoch.measures).where(Epoch.run_id == run_id)).all()
        own = dict.fromkeys(name for one in measures for name in one)
        external = session.exec(select(Run.external).where(Run.id == run_id)).one()
        columns = [name for name in OF_EPOCHS if not (external and name in OF_TRAINERS)]
        found |= dict.fromkeys([*columns, RATE, *own], "epoch")
    if any_of(Quality):
        names = [*distinct(Metric.name, Metric), *OF_EVALUATIONS]
        found |= dict.fromkeys(names, "evaluation")
    found |= dict.fromkeys(distinct(LoggedValues.name, LoggedValues), "logged")
    if any_of(SystemSample):
        newest = select(*(getattr(SystemSample, name) for name in OF_SAMPLES))
        row = session.execute(newest.where(col(SystemSample.run_id) == run_id).limit(1)).one()
        sampled = [name for name, value in zip(OF_SAMPLES, row, strict=True) if value is not None]
        found |= dict.fromkeys(sampled, "sample")
    return found


def _curve(session: Session, run_id: str, name: str, stored: Stored) -> Curve | None:
    """A metric; what a script logged goes before what else has its name."""
    steps, _, values = logged.read(session, run_id, name)
    if len(steps):
        return Curve("logged", steps, values)
    per_epoch = stored.per_epoch
    if name in OF_SAMPLES:
        return _samples(session, run_id, name, stored)
    if not per_epoch:
        return None
    if name in LOSSES:
        column = StepLosses.g_losses if name == "g_loss" else StepLosses.d_losses
        return _packed(session, select(StepLosses.epoch, column), StepLosses, run_id, per_epoch)
    if name in OF_TRAINERS and stored.external:
        return None
    if name == RATE or name in OF_EPOCHS:
        return _of_epochs(session, run_id, name, per_epoch)
    if name in OF_EVALUATIONS:
        timed = select(Quality.epoch, Quality.seconds).where(Quality.run_id == run_id)
        return _sparse(session, timed.order_by(col(Quality.epoch)), "evaluation", per_epoch)
    evaluated = select(Metric.epoch, Metric.value).where(
        Metric.run_id == run_id, Metric.name == name
    )
    series = select(StepSeries.epoch, StepSeries.values).where(StepSeries.name == name)  # type: ignore[call-overload]
    return (
        _sparse(session, evaluated.order_by(col(Metric.epoch)), "evaluation", per_epoch)
        or _packed(session, series, StepSeries, run_id, per_epoch)
        or _measured(session, run_id, name, per_epoch)
    )


def _packed(session: Session, found: Any, table: Any, run_id: str, per_epoch: int) -> Curve | None:
    """Values of every step, from rows of an epoch and its values."""
    rows = session.execute(found.where(table.run_id == run_id).order_by(table.epoch)).all()
    if not rows:
        return None
    steps = [(epoch - 1) * per_epoch + 1 + np.arange(len(values)) for epoch, values in rows]
    values = np.concatenate([values for _, values in rows]).astype(np.float64)
    return Curve("step", np.concatenate(steps).astype(np.float64), values)


def _of_epochs(session: Session, run_id: str, name: str, per_epoch: int) -> Curve | None:
    if name == RATE:
        columns: Any = (Epoch.epoch, Epoch.images, Epoch.seconds)
        found = select(*columns)
    else:
        found = select(Epoch.epoch, OF_EPOCHS[name])
    rows = session.execute(
        found.where(col(Epoch.run_id) == run_id).order_by(col(Epoch.epoch))
    ).all()
    if not rows:
        return None
    table = np.array([tuple(row) for row in rows], dtype=np.float64)
    values = table[:, 1]
    if name == RATE:
        values = values / np.where(table[:, 2] > 0, table[:, 2], np.nan)
    return Curve("epoch", table[:, 0] * per_epoch, values)


def _measured(session: Session, run_id: str, name: str, per_epoch: int) -> Curve | None:
    rows = session.execute(
        select(Epoch.epoch, Epoch.measures).where(Epoch.run_id == run_id).order_by(col(Epoch.epoch))
    ).all()
    known = [(epoch, measures[name]) for epoch, measures in rows if name in measures]
    return _placed(known, "epoch", per_epoch)


def _sparse(session: Session, found: Any, cadence: Cadence, per_epoch: int) -> Curve | None:
    return _placed([tuple(row) for row in session.execute(found)], cadence, per_epoch)


def _placed(rows: list[tuple[Any, ...]], cadence: Cadence, per_epoch: int) -> Curve | None:
    """Rows of an epoch and the value at its end."""
    if not rows:
        return None
    table = np.array(rows, dtype=np.float64)
    return Curve(cadence, table[:, 0] * per_epoch, table[:, 1])


def _samples(session: Session, run_id: str, name: str, stored: Stored) -> Curve | None:
    """A sample lies in the step, with a fraction, that was taken at its time."""
    rows = session.execute(
        select(SystemSample.at, getattr(SystemSample, name))
        .where(SystemSample.run_id == run_id)
        .order_by(col(SystemSample.at))
    ).all()
    known = [(at.timestamp(), value) for at, value in rows if value is not None]
    if not known:
        return None
    table = np.array(known, dtype=np.float64)
    if stored.clock is not None:
        steps, times = stored.clock
        return Curve("sample", np.interp(table[:, 0], times, steps), table[:, 1])
    if stored.timeline is None:
        return None
    return Curve("sample", stored.timeline.step_at(table[:, 0]), table[:, 1])


def _clock(session: Session, run_id: str) -> tuple[Floats, Floats] | None:
    """Steps and times, both ascending, of the metric that was logged most often."""
    size = func.sum(func.length(LoggedValues.steps))
    counted = select(LoggedValues.name).where(LoggedValues.run_id == run_id)
    ordered = counted.group_by(col(LoggedValues.name)).order_by(size.desc(), LoggedValues.name)
    longest = session.exec(ordered.limit(1)).first()
    if longest is None:
        return None
    steps, times, _ = logged.read(session, run_id, longest)
    return steps, np.maximum.accumulate(times)


def _images(session: Session, run_id: str, run: Any) -> float | None:
    """Real images per step: of the epochs that are stored, else the batch size."""
    columns: Any = (Epoch.images, Epoch.steps)
    first = select(*columns).where(Epoch.run_id == run_id).order_by(col(Epoch.epoch)).limit(1)
    row = session.execute(first).one_or_none()
    if row is not None and row.steps:
        return float(row.images) / float(row.steps)
    batch = run.config.get("batch_size")
    return float(batch) if isinstance(batch, int | float) and batch > 0 else None
