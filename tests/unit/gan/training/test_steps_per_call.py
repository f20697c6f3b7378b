from __future__ import annotations

from ganboard.gan.training.steps_per_call import CALL_SECONDS, StepsPerCall


def test_calls_grow_to_the_aim_and_no_further() -> None:
    pace, counts = StepsPerCall(), []
    for _ in range(7):
        counts.append(pace.count)
        pace.update(0.05 * pace.count, pace.count)
    assert counts == [1, 2, 4, 8, 8, 8, 8]
    pace.update(10 * CALL_SECONDS, pace.count)
    assert pace.count == 1
