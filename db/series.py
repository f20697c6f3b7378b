"""Chart data: reads that return pandas frames and numpy arrays, reduced before they leave this layer."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from sqlalchemy import Engine
from sqlmodel import col, select

from db.engine import reading
from db.models import QUALITY_MEASURES, Epoch, Quality, Run, StepLosses, StepSeries, SystemSample

EPOCH_COLUMNS = [
    "run_id", "epoch", "finished_at", "steps", "images", "g_loss", "d_loss", "seconds", "compile_seconds",
    "g_x", "g_y", "d_x", "d_y", "images_per_second",
]  # fmt: skip
QUALITY_COLUMNS = ["run_id", "epoch", "made_at", "seconds", "training_seconds", *QUALITY_MEASURES, "histogram"]


def epochs_frame(engine: Engine, run_ids: list[str]) -> pd.DataFrame:
    """All finished epochs of the runs, ordered by run and epoch, with the columns EPOCH_COLUMNS."""
    columns: list[Any] = [getattr(Epoch, name) for name in EPOCH_COLUMNS[:-1]]
    with reading(engine) as session:
        rows = session.execute(select(*columns).where(col(Epoch.run_id).in_(run_ids)).order_by(col(Epoch.run_id), col(Epoch.epoch)))
        frame = pd.DataFrame(list(rows), columns=EPOCH_COLUMNS[:-1])
    frame["images_per_second"] = frame["images"] / frame["seconds"].where(frame["seconds"] > 0)
    return frame


def step_losses(engine: Engine, run_id: str, *, points: int = 2000) -> pd.DataFrame:
    """Columns step (from 1), epoch (fraction of epochs passed), g_loss, d_loss: at most `points` + 1 rows.

    Longer series are reduced to the smallest, the largest and the first NaN loss of each bucket, for G and D alike, so that spikes stay.
    """
    with reading(engine) as session:
        rows = session.execute(
            select(StepLosses.epoch, StepLosses.g_losses, StepLosses.d_losses, Run.steps_per_epoch)  # type: ignore[call-overload]
            .join(Run, col(Run.id) == StepLosses.run_id)
            .where(col(StepLosses.run_id) == run_id)
            .order_by(col(StepLosses.epoch))
        ).all()
    if not rows:
        return pd.DataFrame({"step": [], "epoch": [], "g_loss": [], "d_loss": []}, dtype=float)
    g = np.concatenate([row.g_losses for row in rows]).astype(np.float64)
    d = np.concatenate([row.d_losses for row in rows]).astype(np.float64)
    step = np.concatenate([(row.epoch - 1) * row.steps_per_epoch + 1 + np.arange(len(row.g_losses)) for row in rows])
    kept = _extremes([g, d], points)
    return pd.DataFrame({"step": step[kept], "epoch": step[kept] / rows[0].steps_per_epoch, "g_loss": g[kept], "d_loss": d[kept]})


def step_series(engine: Engine, run_id: str, names: list[str], *, points: int = 2000) -> pd.DataFrame:
    """Columns step (from 1), epoch (fraction of epochs passed) and one per name, reduced as `step_losses` are.

    Steps of which none of these values was reported have no row; a value that is missing beside others is NaN.
    """
    with reading(engine) as session:
        rows = session.execute(
            select(StepSeries.epoch, StepSeries.name, StepSeries.values, Run.steps_per_epoch)  # type: ignore[call-overload]
            .join(Run, col(Run.id) == StepSeries.run_id)
            .where(col(StepSeries.run_id) == run_id, col(StepSeries.name).in_(names))
            .order_by(col(StepSeries.epoch))
        ).all()
    if not rows:
        return pd.DataFrame({name: [] for name in ("step", "epoch", *names)}, dtype=float)
    lengths: dict[int, int] = {}  # by epoch, ascending
    for row in rows:
        lengths[row.epoch] = max(lengths.get(row.epoch, 0), len(row[2]))
    starts = dict(zip(lengths, np.cumsum([0, *lengths.values()]), strict=False))
    curves = {name: np.full(sum(lengths.values()), np.nan) for name in names}
    for epoch, name, values, _ in rows:
        curves[name][starts[epoch] : starts[epoch] + len(values)] = values
    per_epoch = rows[0].steps_per_epoch
    step = np.concatenate([(epoch - 1) * per_epoch + 1 + np.arange(length) for epoch, length in lengths.items()])
    kept = _extremes(list(curves.values()), points)
    return pd.DataFrame({"step": step[kept], "epoch": step[kept] / per_epoch} | {name: curve[kept] for name, curve in curves.items()})


def quality_frame(engine: Engine, run_ids: list[str]) -> pd.DataFrame:
    """All judgements of the runs, ordered by run and epoch, with QUALITY_COLUMNS: NaN where not measured, arrays as `histogram`."""
    columns: list[Any] = [getattr(Quality, name) for name in QUALITY_COLUMNS]
    with reading(engine) as session:
        rows = session.execute(select(*columns).where(col(Quality.run_id).in_(run_ids)).order_by(col(Quality.run_id), col(Quality.epoch)))
        frame = pd.DataFrame(list(rows), columns=QUALITY_COLUMNS)
    return frame.astype(dict.fromkeys(QUALITY_MEASURES, float))


def measures_frame(engine: Engine, run_ids: list[str]) -> pd.DataFrame:
    """Columns run_id, epoch and one for every measure that any epoch of the runs has; NaN where an epoch lacks it."""
    with reading(engine) as session:
        rows = session.execute(
            select(Epoch.run_id, Epoch.epoch, Epoch.measures)
            .where(col(Epoch.run_id).in_(run_ids))
            .order_by(col(Epoch.run_id), col(Epoch.epoch))
        ).all()
    names = dict.fromkeys(name for row in rows for name in row.measures)
    columns = {name: np.array([row.measures.get(name, np.nan) for row in rows], dtype=np.float64) for name in names}
    return pd.DataFrame({"run_id": [row.run_id for row in rows], "epoch": [row.epoch for row in rows]} | columns)


def loss_histograms(engine: Engine, run_id: str, *, net: str, bins: int = 40) -> tuple[list[int], npt.NDArray[Any], npt.NDArray[Any]]:
    """How often each loss occurred per epoch: (epochs [E], bin edges [bins + 1], counts [E, bins]); `net` is "g" or "d".

    Losses that are not finite are left out; the edges span the finite ones of the whole run.
    """
    column = {"g": StepLosses.g_losses, "d": StepLosses.d_losses}[net]
    with reading(engine) as session:
        rows = session.execute(
            select(StepLosses.epoch, column).where(col(StepLosses.run_id) == run_id).order_by(col(StepLosses.epoch))  # type: ignore[call-overload]
        ).all()
    finite = [losses[np.isfinite(losses)].astype(np.float64) for _, losses in rows]
    everything = np.concatenate(finite) if finite else np.zeros(0)
    if not everything.size:
        return [epoch for epoch, _ in rows], np.linspace(0, 1, bins + 1), np.zeros((len(rows), bins), dtype=int)
    low, high = everything.min(), everything.max()
    around = 0.0 if high > low else max(0.5, abs(low) / 1000)  # a constant loss stands in the middle
    edges = np.linspace(low - around, high + around, bins + 1)
    return [epoch for epoch, _ in rows], edges, np.array([np.histogram(losses, edges)[0] for losses in finite])


def samples_frame(engine: Engine, run_id: str, *, points: int = 1000) -> pd.DataFrame:
    """System samples of a run in order of time: at, cpu_percent, rss_bytes, memory_percent, gpu_percent, gpu_memory_bytes."""
    names = ["at", "cpu_percent", "rss_bytes", "memory_percent", "gpu_percent", "gpu_memory_bytes"]
    columns: list[Any] = [getattr(SystemSample, name) for name in names]
    with reading(engine) as session:
        rows = session.execute(select(*columns).where(col(SystemSample.run_id) == run_id).order_by(col(SystemSample.at)))
        frame = pd.DataFrame(list(rows), columns=names)
    return frame.iloc[:: -max(1, -(-len(frame) // points))][::-1].reset_index(drop=True)  # counted from the newest, so that it stays


def _extremes(curves: list[npt.NDArray[Any]], points: int) -> npt.NDArray[Any]:
    """Ascending indices: everything, or the last and, per bucket, the positions of each curve's smallest, largest and first NaN."""
    length = len(curves[0])
    if length <= points:
        return np.arange(length)
    edges = np.linspace(0, length, max(1, points // (3 * len(curves))) + 1).astype(int)
    kept = [np.array([length - 1])]
    for curve in curves:
        nan = np.isnan(curve)
        for sought in (np.where(nan, -np.inf, curve), np.where(nan, -np.inf, -curve), nan):  # the largest of -curve is the smallest
            kept += [np.array([start + sought[start:end].argmax() for start, end in pairwise(edges)])]
    return np.unique(np.concatenate(kept))
