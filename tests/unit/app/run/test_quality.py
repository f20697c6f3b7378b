"""How soon a run was good enough."""

from __future__ import annotations

import math

import pandas as pd
import pytest

from ganboard.app.run.quality import Best, best, seconds_to, suggested


def evaluated(*fids: float) -> pd.DataFrame:
    count = range(1, len(fids) + 1)
    return pd.DataFrame(
        {
            "epoch": [2 * n for n in count],
            "training_seconds": [10.0 * n for n in count],
            "fid": fids,
        },
        dtype=float,
    )


def test_the_best_is_the_first_lowest_that_is_finite() -> None:
    assert best(evaluated(9.0, math.nan, 3.0, -math.inf, 3.0)) == Best(3.0, 6, 30.0)
    assert best(evaluated(math.nan, math.inf)) is None
    assert best(evaluated()) is None


def test_seconds_to_a_distance() -> None:
    frame = evaluated(9.0, math.nan, 5.0, 6.0)
    assert seconds_to(frame, 9.0) == 10.0
    assert seconds_to(frame, 8.9) == 30.0
    assert seconds_to(frame, 4.9) is None
    assert seconds_to(frame, None) is None
    assert seconds_to(evaluated(), 5.0) is None


@pytest.mark.parametrize(
    ("lowest", "threshold"),
    [(4.0, 4.4), (12.0, 14.0), (0.0123, 0.014), (999.0, 1100.0), (123_456.0, 140_000.0)],
)
def test_the_suggested_distance_is_one_that_was_reached(lowest: float, threshold: float) -> None:
    assert suggested(evaluated(2 * lowest, lowest)) == pytest.approx(threshold)


@pytest.mark.parametrize("fids", [(), (math.nan,), (0.0,), (-1e-9,)])
def test_nothing_is_suggested_without_a_distance(fids: tuple[float, ...]) -> None:
    assert suggested(evaluated(*fids)) is None
