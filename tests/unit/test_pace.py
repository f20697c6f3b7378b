from __future__ import annotations

import pytest

from gan.pace import CALL_SECONDS, Pace


def test_what_the_first_call_took_beyond_a_later_step_was_compiling() -> None:
    pace = Pace()
    assert pace.split(5.0, 1) == (5.0, 0.0)
    training, compiling = pace.split(0.1, 1)
    assert compiling == pytest.approx(4.9)
    assert 5.0 + training == pytest.approx(0.2)  # two steps of 0.1 s
    assert pace.split(0.2, 2) == (0.2, 0.0)


def test_an_epoch_of_one_step_takes_nothing_back_from_the_one_before() -> None:
    pace = Pace()
    pace.split(5.0, 1)
    pace.end_epoch()
    assert pace.split(0.1, 1) == (0.1, 0.0)


def test_calls_grow_to_the_aim_and_no_further() -> None:
    pace, counts = Pace(), []
    for _ in range(8):
        counts.append(pace.count)
        pace.split(0.05 * pace.count, pace.count)
    assert counts == [1, 1, 2, 4, 8, 8, 8, 8]
    pace.split(10 * CALL_SECONDS, pace.count)
    assert pace.count == 1
