"""How the launch page words its estimates."""

from __future__ import annotations

import pytest

from ganboard.app.launch import plan
from ganboard.db.runs.runtime_estimation import Estimate


@pytest.mark.parametrize(
    ("low", "high", "text"),
    [
        (1230, 1606, "20 to 27 min"),
        (4.4, 9.8, "4.4 to 9.8 s"),
        (9.96, 12, "10 to 12 s"),
        (90, 100, "90 to 100 s"),
        (100, 130, "1.7 to 2.2 min"),
        (3600, 9000, "1.0 to 2.5 h"),
        (100_000, 400_000, "1.2 to 4.6 d"),
        (0.02, 0.3, "20 to 300 ms"),
    ],
)
def test_ranges_have_one_unit(low: float, high: float, text: str) -> None:
    assert plan.between(low, high) == text


def test_a_certain_estimate_is_one_time() -> None:
    assert plan.span(Estimate(0.01, 0.01, 0.0105, "", None), 1000) == "10 s"
    assert plan.span(Estimate(0.01, 0.005, 0.02, "", None), 1000) == "5.0 to 20 s"
