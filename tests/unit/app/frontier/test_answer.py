"""The cheapest configuration that reaches a target."""

from __future__ import annotations

import math

import pandas as pd
import pytest

from ganboard.app.frontier import answer
from tests.unit.app.frontier.entries import entry

NAN, INFINITE = math.nan, math.inf


def points(*rows: tuple[str, float, float]) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=["run_id", "x", "y"])


def found(*entries: tuple[str, dict[str, object]], reached: dict[str, float]) -> list[tuple]:
    made = [entry(run_id, **settings) for run_id, settings in entries]  # type: ignore[arg-type]
    configurations = answer.configurations(made, reached, by_machine=True)
    return [
        ("".join(one.run.id for one in known.entries), known.cost, known.reached)
        for known in configurations
    ]


def test_the_first_evaluation_at_the_target_counts() -> None:
    frame = points(("a", 1, 9), ("a", 2, 5), ("a", 3, 4), ("b", 7, 6), ("c", NAN, 5), ("c", 9, 3))
    assert answer.first_reached(frame, 5, lower=True) == {"a": 2, "c": 9}
    assert answer.first_reached(frame, 9, lower=False) == {"a": 1}
    assert answer.first_reached(frame.iloc[:0], 9, lower=True) == {}


def test_seeds_are_one_configuration_and_its_cost_is_the_median() -> None:
    runs = [(name, {"seed": n}) for n, name in enumerate("abc")]
    assert found(*runs, reached={"a": 30.0, "b": 34.0, "c": 32.0}) == [("abc", 32, 3)]
    assert found(*runs, reached={"a": 30.0, "c": 32.0}) == [("abc", 32, 2)]
    assert found(*runs, reached={"a": 30.0}) == [("abc", INFINITE, 1)]


def test_the_cheapest_that_most_runs_reach_it_with_comes_first() -> None:
    lucky = [("l", {"batch_size": 16}), ("m", {"batch_size": 16, "seed": 1})]
    steady = [("s", {}), ("t", {"seed": 1})]
    dear = [("d", {"xla": True})]
    never = [("n", {"precision": "mixed_bfloat16"})]
    reached = {"l": 1.0, "s": 9.0, "t": 11.0, "d": 50.0}
    assert found(*lucky, *never, *dear, *steady, reached=reached) == [
        ("st", 10, 2),
        ("d", 50, 1),
        ("lm", INFINITE, 1),
        ("n", INFINITE, 0),
    ]


def test_what_is_only_recorded_makes_no_configuration() -> None:
    runs = [("a", {"checkpoint_every": 1}), ("b", {"checkpoint_every": 5, "quality_every": 2})]
    assert found(*runs, reached={"a": 1.0, "b": 3.0}) == [("ab", 2, 2)]


def test_runs_that_may_still_reach_it_do_not_count() -> None:
    runs = [("a", {}), ("b", {"seed": 1, "status": "running"}), ("c", {"status": "failed"})]
    assert found(*runs, reached={"a": 4.0}) == [("ac", INFINITE, 1)]
    assert found(*runs, reached={"a": 4.0, "b": 6.0}) == [("abc", 6, 2)]


def test_seconds_of_two_machines_are_two_configurations() -> None:
    made = [entry("a"), entry("b", machine="other")]
    reached = {"a": 1.0, "b": 2.0}
    assert len(answer.configurations(made, reached, by_machine=True)) == 2
    assert len(answer.configurations(made, reached, by_machine=False)) == 1


@pytest.mark.parametrize(
    ("costs", "typical"),
    [([3.0, 1.0, 2.0], "c"), ([INFINITE, 1.0, 2.0], "c"), ([INFINITE, 7.0, INFINITE], "b")],
)
def test_the_typical_run_is_at_the_median(costs: list[float], typical: str) -> None:
    configuration = answer.Configuration([entry(name) for name in "abc"], costs)
    assert configuration.typical.run.id == typical


def test_suggested_targets_are_round_and_reached() -> None:
    assert answer.suggested(4.31, lower=True) == 4.8
    assert answer.suggested(0.5512, lower=False) == 0.49
    for best in (0.0, -1.0, NAN, None):
        assert answer.suggested(best, lower=True) is None


@pytest.mark.parametrize(
    ("value", "text"),
    [(7.00312, "7.003"), (9.26, "9.26"), (1234.5, "1,234.50"), (7.0 + 1e-14, "7.00000000000001")],
)
def test_a_value_beside_the_target_that_it_misses_reads_differently(
    value: float, text: str
) -> None:
    assert answer.apart(value, 7.0, digits=2) == text
