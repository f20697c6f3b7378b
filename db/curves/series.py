"""Chart data: reads that return pandas frames and numpy arrays, reduced before they leave this
layer."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from sqlalchemy import Engine
from sqlmodel import col, select

from ganboard.db.curves import logged, reduction, timeline
from ganboard.db.engine import reading
from ganboard.db.models import (
    Epoch,
    Event,
    Metric,
    Quality,
    Run,
    StepLosses,
    StepSeries,
    SystemSample,
)

EPOCH_COLUMNS = [
    "run_id", "epoch", "finished_at", "steps", "images", "g_loss", "d_loss", "seconds",
    "compile_seconds", "g_x", "g_y", "d_x", "d_y", "images_per_second", "step", "training_seconds",
    "time",
]  # fmt: skip
# of `quality_frame`, then one for each metric, then QUALITY_ENDS
QUALITY_COLUMNS = [
    "run_id", "epoch", "made_at", "seconds", "training_seconds", "preparation_seconds",
]  # fmt: skip
QUALITY_ENDS = ["histogram", "step", "time"]
# columns of every frame over the course of a run; time is UTC without a zone
AXES = ("step", "epoch", "training_seconds", "time")


def epochs_frame(engine: Engine, run_ids: list[str]) -> pd.DataFrame:
    """All finished epochs of the runs, ordered by run and epoch, with the columns EPOCH_COLUMNS;
    step and training_seconds at their end."""
    stored = EPOCH_COLUMNS[:-4]
    columns: list[Any] = [getattr(Epoch, name) for name in stored]
    with reading(engine) as session:
        rows = session.execute(
            select(*columns)
            .where(col(Epoch.run_id).in_(run_ids))
            .order_by(col(Epoch.run_id), col(Epoch.epoch))
        )
        frame = pd.DataFrame(list(rows), columns=stored)
    if frame.empty:
        frame = frame.astype(dict.fromkeys(stored[3:], float) | {"epoch": int})
    frame["images_per_second"] = frame["images"] / frame["seconds"].where(frame["seconds"] > 0)
    frame["step"] = frame["epoch"] * frame["steps"]
    frame["training_seconds"] = frame.groupby("run_id")["seconds"].cumsum()
    frame["time"] = _utc(frame["finished_at"])
    return frame


def step_losses(
    engine: Engine, run_id: str, *, points: int = 2000, smoothing: float = 0.0
) -> pd.DataFrame:
    """Columns AXES, g_loss, d_loss, and g_smooth, d_smooth, which are smoothed before anything is
    left out: at most `points` + 1 rows.

    Longer series are reduced to the smallest, the largest and the first NaN loss of each bucket,
    for G and D alike, so that spikes stay. `attrs["usual"]` has the 1st and 99th percentile of all
    finite losses of both, (0, 1) if there is none.
    """
    with reading(engine) as session:
        rows = session.execute(
            select(StepLosses.epoch, StepLosses.g_losses, StepLosses.d_losses)  # type: ignore[call-overload]
            .where(col(StepLosses.run_id) == run_id)
            .order_by(col(StepLosses.epoch))
        ).all()
        found = (
            timeline.losses(rows, timeline.read(session, run_id))
            if rows
            else logged.losses(session, run_id)
        )
    if found is None:
        return pd.DataFrame(
            {name: [] for name in (*AXES, "g_loss", "d_loss", "g_smooth", "d_smooth")}, dtype=float
        )
    axes, curves = found
    kept = reduction.extremes(list(curves.values()), points)
    columns = {f"{net}_loss": losses[kept] for net, losses in curves.items()}
    columns |= {
        f"{net}_smooth": reduction.smooth(losses, smoothing)[kept] for net, losses in curves.items()
    }
    frame = pd.DataFrame(axes(kept) | columns)
    frame.attrs["usual"] = reduction.usual(np.concatenate(list(curves.values())))
    return frame


def events_frame(engine: Engine, run_id: str, *, limit: int = 200) -> pd.DataFrame:
    """Columns AXES, level, text: what happened to a run since its first attempt began, the newest
    `limit` in order of time.

    The position of an event between the steps follows from its time.
    """
    newest = select(Event.at, Event.level, Event.text).where(
        Event.run_id == run_id, Event.attempt > 0
    )
    with reading(engine) as session:
        rows = session.execute(newest.order_by(col(Event.id).desc()).limit(limit)).all()[::-1]
        times = timeline.read(session, run_id) if rows else None
    if times is None:
        return pd.DataFrame({name: [] for name in (*AXES, "level", "text")})
    at = np.array([row.at.timestamp() for row in rows])
    texts = {"level": [row.level for row in rows], "text": [row.text for row in rows]}
    return pd.DataFrame(times.columns(times.step_at(at)) | {"time": timeline.as_utc(at)} | texts)


def step_series(
    engine: Engine, run_id: str, names: list[str], *, points: int = 2000
) -> pd.DataFrame:
    """Columns AXES and one per name, reduced as `step_losses` are.

    Steps of which none of these values was reported have no row; a value that is missing beside
    others is NaN.
    """
    with reading(engine) as session:
        rows = session.execute(
            select(StepSeries.epoch, StepSeries.name, StepSeries.values)  # type: ignore[call-overload]
            .where(col(StepSeries.run_id) == run_id, col(StepSeries.name).in_(names))
            .order_by(col(StepSeries.epoch))
        ).all()
        times = timeline.read(session, run_id) if rows else None
    if times is None:
        return pd.DataFrame({name: [] for name in (*AXES, *names)}, dtype=float)
    lengths: dict[int, int] = {}  # by epoch, ascending
    for row in rows:
        lengths[row.epoch] = max(lengths.get(row.epoch, 0), len(row[2]))
    starts = dict(zip(lengths, np.cumsum([0, *lengths.values()]), strict=False))
    curves = {name: np.full(sum(lengths.values()), np.nan) for name in names}
    for epoch, name, values in rows:
        curves[name][starts[epoch] : starts[epoch] + len(values)] = values
    step = np.concatenate(
        [(epoch - 1) * times.per_epoch + 1 + np.arange(length) for epoch, length in lengths.items()]
    )
    kept = reduction.extremes(list(curves.values()), points)
    return pd.DataFrame(
        times.columns(step[kept]) | {name: curve[kept] for name, curve in curves.items()}
    )


def quality_frame(engine: Engine, run_ids: list[str], metrics: Iterable[str] = ()) -> pd.DataFrame:
    """All evaluations of the runs, ordered by run and epoch, arrays as `histogram`: the columns
    QUALITY_COLUMNS, one for each of `metrics` and every other that was measured, QUALITY_ENDS.

    A metric is NaN where it was not measured.
    """
    stored: list[Any] = [getattr(Quality, name) for name in (*QUALITY_COLUMNS, "histogram")]
    stored.append(col(Quality.epoch) * col(Run.steps_per_epoch))
    evaluated = select(*stored).join(Run, col(Run.id) == Quality.run_id)
    measured = select(Metric.run_id, Metric.epoch, Metric.name, Metric.value)
    with reading(engine) as session:
        rows = session.execute(
            evaluated.where(col(Quality.run_id).in_(run_ids)).order_by(
                col(Quality.run_id), col(Quality.epoch)
            )
        )
        frame = pd.DataFrame(list(rows), columns=[*QUALITY_COLUMNS, *QUALITY_ENDS[:-1]])
        values = session.execute(measured.where(col(Metric.run_id).in_(run_ids))).all()
    places = {key: at for at, key in enumerate(zip(frame["run_id"], frame["epoch"], strict=True))}
    names = dict.fromkeys([*metrics, *sorted({name for _, _, name, _ in values})])
    found = {name: np.full(len(frame), np.nan) for name in names}
    for run_id, epoch, name, value in values:
        if (at := places.get((run_id, epoch))) is not None:  # None: evaluated between the reads
            found[name][at] = value
    frame = frame.astype({"preparation_seconds": float})
    frame = frame.assign(time=_utc(frame["made_at"]), **found)
    return frame[[*QUALITY_COLUMNS, *names, *QUALITY_ENDS]]


def speeds(engine: Engine, run_ids: list[str]) -> dict[str, npt.NDArray[np.float64]]:
    """Per run [epochs, 2]: seconds and real images per second of each finished epoch, compiling
    left out; NaN where no time passed."""
    found = _arrays(engine, [Epoch.seconds, Epoch.images], Epoch, run_ids)
    timed = {
        run_id: np.where(rows[:, :1] > 0, rows[:, :1], np.nan) for run_id, rows in found.items()
    }
    return {
        run_id: np.hstack((rows[:, :1], rows[:, 1:] / timed[run_id]))
        for run_id, rows in found.items()
    }


def evaluated(
    engine: Engine, run_ids: list[str], measure: str = "fid"
) -> dict[str, npt.NDArray[np.float64]]:
    """Per run [evaluations, 2]: the epoch of each, and what it found of one metric; NaN where that
    was not measured."""
    value = (
        select(Metric.value)
        .where(Metric.run_id == Quality.run_id, Metric.epoch == Quality.epoch)
        .where(Metric.name == measure)
        .scalar_subquery()
    )
    return _arrays(engine, [Quality.epoch, value], Quality, run_ids)


def _arrays(
    engine: Engine, columns: list[Any], table: Any, run_ids: list[str]
) -> dict[str, npt.NDArray[np.float64]]:
    """The `columns` [rows, columns] of each run, in the order of its epochs."""
    rows: dict[str, list[Any]] = {run_id: [] for run_id in run_ids}
    with reading(engine) as session:
        for run_id, *values in session.execute(
            select(table.run_id, *columns).where(table.run_id.in_(run_ids)).order_by(table.epoch)
        ):
            rows[run_id].append(values)
    return {
        run_id: np.array(values, dtype=np.float64).reshape(-1, len(columns))
        for run_id, values in rows.items()
    }


def measures_frame(engine: Engine, run_ids: list[str]) -> pd.DataFrame:
    """Columns run_id, epoch and one for every measure that any epoch of the runs has; NaN where an
    epoch lacks it."""
    with reading(engine) as session:
        rows = session.execute(
            select(Epoch.run_id, Epoch.epoch, Epoch.measures)
            .where(col(Epoch.run_id).in_(run_ids))
            .order_by(col(Epoch.run_id), col(Epoch.epoch))
        ).all()
    names = dict.fromkeys(name for row in rows for name in row.measures)
    columns = {
        name: np.array([row.measures.get(name, np.nan) for row in rows], dtype=np.float64)
        for name in names
    }
    return pd.DataFrame(
        {"run_id": [row.run_id for row in rows], "epoch": [row.epoch for row in rows]} | columns
    )


def loss_histograms(
    engine: Engine, run_id: str, *, net: str, bins: int = 40, robust: bool = False
) -> tuple[list[int], npt.NDArray[Any], npt.NDArray[Any]]:
    """How often each loss occurred per epoch: (epochs [E], bin edges [bins + 1], counts [E, bins]);
    `net` is "g" or "d".

    Losses that are not finite are left out; the edges span the finite ones of the whole run, or, if
    `robust`, its 1st to 99th percentile.
    """
    column = {"g": StepLosses.g_losses, "d": StepLosses.d_losses}[net]
    with reading(engine) as session:
        rows = session.execute(
            select(StepLosses.epoch, column)  # type: ignore[call-overload]
            .where(col(StepLosses.run_id) == run_id)
            .order_by(col(StepLosses.epoch))
        ).all()
    finite = [losses[np.isfinite(losses)].astype(np.float64) for _, losses in rows]
    everything = np.concatenate(finite) if finite else np.zeros(0)
    if not everything.size:
        return (
            [epoch for epoch, _ in rows],
            np.linspace(0, 1, bins + 1),
            np.zeros((len(rows), bins), dtype=int),
        )
    low, high = reduction.usual(everything) if robust else (everything.min(), everything.max())
    # a constant loss is in the middle
    around = 0.0 if high > low else max(0.5, abs(low) / 1000)
    edges = np.linspace(low - around, high + around, bins + 1)
    return (
        [epoch for epoch, _ in rows],
        edges,
        np.array([np.histogram(losses, edges)[0] for losses in finite]),
    )


def samples_frame(engine: Engine, run_id: str, *, points: int = 1000) -> pd.DataFrame:
    """System samples of a run in order of time: at, cpu_percent, rss_bytes, memory_percent,
    gpu_percent, gpu_memory_bytes."""
    names = ["at", "cpu_percent", "rss_bytes", "memory_percent", "gpu_percent", "gpu_memory_bytes"]
    columns: list[Any] = [getattr(SystemSample, name) for name in names]
    with reading(engine) as session:
        rows = session.execute(
            select(*columns)
            .where(col(SystemSample.run_id) == run_id)
            .order_by(col(SystemSample.at))
        )
        frame = pd.DataFrame(list(rows), columns=names)
    # counted from the newest, so that it stays
    return frame.iloc[:: -max(1, -(-len(frame) // points))][::-1].reset_index(drop=True)


def _utc(moments: pd.Series[Any]) -> pd.Series[Any]:
    """Times without a zone, to the millisecond: a browser draws them as they are."""
    return pd.to_datetime(moments, utc=True).dt.tz_localize(None).astype("datetime64[ms]")
