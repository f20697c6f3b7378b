"""Chart data: reads that return pandas frames and numpy arrays, reduced before they leave this
layer."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from sqlalchemy import Engine
from sqlmodel import col, select

from ganboard.db.engine import reading
from ganboard.db.models import (
    QUALITY_MEASURES,
    Epoch,
    Event,
    Quality,
    Run,
    StepLosses,
    StepSeries,
    SystemSample,
)
from ganboard.db.runs import timeline

EPOCH_COLUMNS = [
    "run_id", "epoch", "finished_at", "steps", "images", "g_loss", "d_loss", "seconds", "compile_seconds",
    "g_x", "g_y", "d_x", "d_y", "images_per_second", "step", "training_seconds", "time",
]  # fmt: skip
QUALITY_COLUMNS = [
    "run_id",
    "epoch",
    "made_at",
    "seconds",
    "training_seconds",
    "preparation_seconds",
    *QUALITY_MEASURES,
    "histogram",
    "step",
    "time",
]
# columns of every frame over the course of a run; time is UTC without a zone
AXES = ("step", "epoch", "training_seconds", "time")
MAX_SMOOTHING = 0.999


def smooth(values: npt.NDArray[np.float64], weight: float) -> npt.NDArray[np.float64]:
    """Exponential moving average of [n] values with bias correction, as of Adam (Kingma & Ba 2015,
    Algorithm 1).

    m_t = w m_(t-1) + (1 - w) x_t, shown as m_t / (1 - w^t), so a constant series stays constant.
    What is not finite is passed over and stays a gap (NaN). `weight` is 0 (none) to 0.999.
    """
    if weight <= 0:
        return values
    finite = np.where(np.isfinite(values), values, np.nan)
    averaged = (
        pd.Series(finite)
        .ewm(alpha=1 - min(weight, MAX_SMOOTHING), adjust=True, ignore_na=True)
        .mean()
        .to_numpy()
    )
    return np.where(np.isnan(finite), np.nan, averaged)


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
        times = timeline.read(session, run_id) if rows else None
    if times is None:
        return pd.DataFrame(
            {name: [] for name in (*AXES, "g_loss", "d_loss", "g_smooth", "d_smooth")}, dtype=float
        )
    curves = {
        "g": np.concatenate([row.g_losses for row in rows]),
        "d": np.concatenate([row.d_losses for row in rows]),
    }
    curves = {net: losses.astype(np.float64) for net, losses in curves.items()}
    step = np.concatenate(
        [(row.epoch - 1) * times.per_epoch + 1 + np.arange(len(row.g_losses)) for row in rows]
    )
    kept = _extremes(list(curves.values()), points)
    columns = {f"{net}_loss": losses[kept] for net, losses in curves.items()}
    columns |= {f"{net}_smooth": smooth(losses, smoothing)[kept] for net, losses in curves.items()}
    frame = pd.DataFrame(times.columns(step[kept]) | columns)
    frame.attrs["usual"] = _usual(np.concatenate(list(curves.values())))
    return frame


def _usual(values: npt.NDArray[np.float64]) -> tuple[float, float]:
    finite = values[np.isfinite(values)]
    low, high = np.percentile(finite, (1, 99)) if finite.size else (0.0, 1.0)
    return float(low), float(high)


def events_frame(engine: Engine, run_id: str, *, limit: int = 200) -> pd.DataFrame:
    """Columns AXES, level, text: what happened to a run since its first attempt began, the newest
    `limit` in order of time.

    Where an event stands between the steps follows from its time.
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
    kept = _extremes(list(curves.values()), points)
    return pd.DataFrame(
        times.columns(step[kept]) | {name: curve[kept] for name, curve in curves.items()}
    )


def quality_frame(engine: Engine, run_ids: list[str]) -> pd.DataFrame:
    """All evaluations of the runs, ordered by run and epoch, with QUALITY_COLUMNS: NaN where not
    measured, arrays as `histogram`."""
    columns: list[Any] = [getattr(Quality, name) for name in QUALITY_COLUMNS[:-2]]
    columns.append(col(Quality.epoch) * col(Run.steps_per_epoch))
    evaluated = select(*columns).join(Run, col(Run.id) == Quality.run_id)
    with reading(engine) as session:
        rows = session.execute(
            evaluated.where(col(Quality.run_id).in_(run_ids)).order_by(
                col(Quality.run_id), col(Quality.epoch)
            )
        )
        frame = pd.DataFrame(list(rows), columns=QUALITY_COLUMNS[:-1])
    return frame.astype(dict.fromkeys((*QUALITY_MEASURES, "preparation_seconds"), float)).assign(
        time=_utc(frame["made_at"])
    )


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
    """Per run [evaluations, 2]: the epoch of each, and what it found, one of QUALITY_MEASURES; NaN
    where that was not measured."""
    return _arrays(engine, [Quality.epoch, getattr(Quality, measure)], Quality, run_ids)


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
    low, high = _usual(everything) if robust else (everything.min(), everything.max())
    # a constant loss stands in the middle
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


def _extremes(curves: list[npt.NDArray[Any]], points: int) -> npt.NDArray[Any]:
    """Ascending indices: everything, or the last and, per bucket, the positions of each curve's
    smallest, largest and first NaN."""
    length = len(curves[0])
    if length <= points:
        return np.arange(length)
    size = -(-length // max(1, points // (3 * len(curves))))
    starts = np.arange(0, length, size)
    kept = [np.array([length - 1])]
    for curve in curves:
        nan = np.isnan(curve)
        # the largest of -curve is the smallest
        for sought in (np.where(nan, -np.inf, curve), np.where(nan, -np.inf, -curve), nan):
            buckets = np.pad(sought, (0, len(starts) * size - length), mode="edge").reshape(
                len(starts), size
            )
            # the first of equals: never one of the padding
            kept.append(starts + buckets.argmax(axis=1))
    return np.unique(np.concatenate(kept))
