from __future__ import annotations

from ganboard.gan.training.steps_per_call import CALL_SECONDS, StepsPerCall


def test_calls_grow_to_the_aim_and_no_further() -> None:
    steps, counts = StepsPerCall(), []
    for _ in range(7):
        counts.append(steps.count)
        steps.update(0.05 * steps.count, steps.count)
    assert counts == [1, 2, 4, 8, 8, 8, 8]
    steps.update(10 * CALL_SECONDS, steps.count)
    assert steps.count == 1


def test_calls_are_whole_programs_of_several_steps() -> None:
    steps, counts = StepsPerCall(16), []
    for _ in range(6):
        counts.append(steps.count)
        steps.update(0.003 * steps.count, steps.count)
    assert counts == [16, 32, 64, 128, 128, 128]
    assert CALL_SECONDS / 0.003 > 128
