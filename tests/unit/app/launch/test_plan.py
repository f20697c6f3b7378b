"""How the launch page words its estimates."""

from __future__ import annotations

import pytest

from ganboard.app.launch import plan
from ganboard.db.runs.runtime_estimation import Estimate
from ganboard.gan.config import parse


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
    certain, wide = Estimate(0.1, 0.1, 0.105, "", None), Estimate(0.1, 0.05, 0.2, "", None)
    assert plan.span(certain, parse({}), 1000) == "1 min 40 s"
    assert plan.span(wide, parse({}), 1000) == "0.8 to 3.3 min"


def test_an_estimate_ends_where_the_run_is_stopped() -> None:
    minute, wide = parse({"max_minutes": 1}), Estimate(0.1, 0.05, 0.2, "", None)
    assert plan.span(wide, minute, 1000) == "50 to 60 s"
    assert plan.span(wide, minute, 10_000) == "1 min"
