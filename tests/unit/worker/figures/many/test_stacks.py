"""Curves that lie on each other."""

from __future__ import annotations

import math

import pandas as pd

from ganboard.worker.figures.many.stacks import coinciding


def curve(*values: float, start: int = 1) -> pd.DataFrame:
    return pd.DataFrame({"epoch": range(start, start + len(values)), "loss": values})


def stacks(**frames: pd.DataFrame) -> dict[str, list[str]]:
    return coinciding(frames, "loss", "epoch")


def test_curves_apart_are_no_stack() -> None:
    assert stacks(a=curve(1, 2, 3), b=curve(1, 2, 4), c=curve()) == {}
    assert stacks() == {}


def test_what_differs_by_less_than_a_line_coincides() -> None:
    found = stacks(a=curve(1, 2, 3), b=curve(1, 2, 3.001), c=curve(1, 2, 3.1), d=curve(1, 2, 3))
    assert found == {"a": ["b", "d"]}


def test_a_run_that_has_not_got_as_far_coincides_so_far() -> None:
    assert stacks(a=curve(1, 2, 3), b=curve(1, 2)) == {"a": ["b"]}
    assert stacks(a=curve(1, 2), b=curve(1, 2, start=5)) == {}


def test_gaps_coincide_with_gaps() -> None:
    assert stacks(a=curve(1, math.nan, 3), b=curve(1, math.inf, 3)) == {"a": ["b"]}
    assert stacks(a=curve(1, math.nan, 3), b=curve(1, 2, 3)) == {}
    assert stacks(a=curve(math.nan, math.nan), b=curve(1, 2)) == {}
