"""The dots of runs, out of their evaluations."""

from __future__ import annotations

import gc
import math
import weakref

import pandas as pd
import pytest

from ganboard.app.frontier import points
from ganboard.worker.context import Context
from tests.unit.app.frontier.entries import entry
from tests.unit.db.stored_runs import finish_epoch, quality, training


def evaluations(*rows: tuple[str, int, float, float, int, float]) -> pd.DataFrame:
    """As `past_runs.improvements` has them."""
    names = ["run_id", "epoch", "value", "training_seconds", "steps", "grid"]
    found = pd.DataFrame(rows, columns=names)
    return found.assign(run_id=found["run_id"].astype("category"))


FOUND = evaluations(
    ("a", 1, 9.0, 10.0, 100, math.nan),
    ("b", 1, 8.0, 5.0, 100, 1.0),  # of another data set
    ("c", 1, 7.0, 0.0, 100, 1.0),
    ("a", 3, 4.0, 30.0, 300, 2.0),
)
ENTRIES = [entry("c", batch_size=8), entry("a", batch_size=64)]


NAMES, GROUPS = {"a": "first", "c": "second"}, {"a": "64", "c": "8"}
SETTINGS = {"a": "<br>batch_size 64", "c": "<br>batch_size 8"}


def made(cost: str) -> pd.DataFrame:
    return points.points(FOUND, ENTRIES, cost, NAMES, SETTINGS, GROUPS)


def test_each_evaluation_has_what_its_run_has() -> None:
    found = made(points.TRAINING)
    assert found["run_id"].tolist() == ["a", "c", "a"]
    assert found["text"].tolist() == ["first", "second", "first"]
    assert found["settings"].tolist() == [SETTINGS["a"], SETTINGS["c"], SETTINGS["a"]]
    assert found["group"].tolist() == ["64", "8", "64"]
    assert found["grid"].tolist() == [-1, 1, 2]
    assert found["best"].tolist() == [False, True, True]


@pytest.mark.parametrize(
    ("cost", "expected"),
    [(points.TRAINING, [10.0, None, 30.0]), (points.IMAGES, [6400.0, 800.0, 19200.0])],
)
def test_a_cost_that_is_unknown_has_no_place(cost: str, expected: list[float | None]) -> None:
    found = made(cost)["x"].tolist()
    assert [None if math.isnan(one) else one for one in found] == expected


def test_without_groups_and_without_evaluations() -> None:
    found = points.points(FOUND, ENTRIES, points.TRAINING, NAMES, SETTINGS, {})
    assert found["group"].tolist() == [None] * 3
    assert points.points(FOUND, [], points.IMAGES, {}, {}, {}).empty


def test_evaluations_of_some_runs() -> None:
    assert points.of_runs(FOUND, {"a", "unknown"}).tolist() == [True, False, False, True]
    assert not points.of_runs(FOUND, set()).any()
    assert not points.of_runs(FOUND.iloc[:0], {"a"}).size


def test_what_an_earlier_version_was_made_into_is_forgotten(context: Context) -> None:
    own = training(context.engine)

    def evaluate(epoch: int, value: float) -> weakref.ref[pd.DataFrame]:
        finish_epoch(context.engine, own, epoch)
        quality(context.engine, own, epoch, fid=value)
        return weakref.ref(points.read(context).improvements("fid", lower=True))

    before, after = evaluate(1, 9.0), evaluate(2, 8.0)
    gc.collect()
    assert before() is None
    found = after()
    assert found is not None
    assert found["value"].tolist() == [9.0, 8.0]
