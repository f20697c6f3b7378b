"""Series that are smoothed, and made shorter without losing their extremes."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

MAX_SMOOTHING = 0.999
# offered: each averages over about 1 / (1 - weight) steps: none, 2, 3, 5, 10, ..., 1000
WEIGHTS = (0.0, 0.5, 0.7, 0.8, 0.9, 0.95, 0.98, 0.99, 0.995, MAX_SMOOTHING)


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


def usual(values: npt.NDArray[np.float64]) -> tuple[float, float]:
    """The 1st and 99th percentile of the finite values, (0, 1) if there is none."""
    finite = values[np.isfinite(values)]
    low, high = np.percentile(finite, (1, 99)) if finite.size else (0.0, 1.0)
    return float(low), float(high)


def extremes(curves: list[npt.NDArray[Any]], points: int) -> npt.NDArray[Any]:
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
