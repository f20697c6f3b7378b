"""Seconds per epoch and images per second."""

from __future__ import annotations

import numpy as np
import pandas as pd

from app.figures import timings


def frame(n: int) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "epoch": np.arange(1, n + 1),
            "seconds": np.full(n, 2.0),
            "compile_seconds": [5.0] + [0.0] * (n - 1),
            "images_per_second": [np.nan] + [100.0] * (n - 1),
        }
    )


def test_compiling_is_stacked_on_training() -> None:
    plot = timings.seconds(frame(4))
    training, compiling = plot.data
    assert plot.layout.barmode == "stack"
    assert (training.uid, compiling.uid) == ("seconds", "compile_seconds")
    assert training.y.tolist() == [2, 2, 2, 2]
    assert compiling.y.tolist() == [5, 0, 0, 0]
    assert training.marker.color != compiling.marker.color


def test_throughput_leaves_out_what_was_not_measured() -> None:
    plot = timings.throughput(frame(3))
    assert np.array_equal(plot.data[0].y, [np.nan, 100, 100], equal_nan=True)
    assert plot.layout.yaxis.rangemode == "tozero"


def test_thousands_of_epochs_are_averaged() -> None:
    bars = timings.seconds(frame(3000)).data[0]
    assert len(bars.x) == 300
    assert (bars.y == 2).all()
