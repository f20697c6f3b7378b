"""How good runs became, and what it took them."""

from __future__ import annotations

import math
from typing import Any

from sqlalchemy import Engine

from ganboard.db.engine import reading
from ganboard.db.models import Epoch, Run
from ganboard.db.runs import past_runs, reports
from tests.unit.db.stored_runs import STEPS, finish_epoch, quality, steps, submitted, training


def evaluate(engine: Engine, own: dict[str, Any], epoch: int, **measures: float) -> None:
    quality(engine, own, epoch, 10.0 * epoch, **measures)


def course(engine: Engine, measure: str, *, lower: bool) -> list[tuple[int, float]]:
    found = past_runs.improvements(engine, measure, lower=lower)
    return list(zip(found["epoch"], found["value"], strict=True))


def test_only_evaluations_that_improve_are_read(engine: Engine) -> None:
    own = training(engine)
    for epoch, value in enumerate((9.0, 12.0, math.nan, 5.0, 5.0, -math.inf, 4.0, math.inf), 1):
        evaluate(engine, own, epoch, fid=value, recall=value)
    assert course(engine, "fid", lower=True) == [(1, 9.0), (4, 5.0), (7, 4.0)]
    assert course(engine, "recall", lower=False) == [(1, 9.0), (2, 12.0)]
    assert course(engine, "kid", lower=True) == []


def test_a_first_evaluation_that_is_not_finite_hides_nothing(engine: Engine) -> None:
    own = training(engine)
    evaluate(engine, own, 1, fid=math.nan)
    evaluate(engine, own, 2, fid=7.0)
    assert course(engine, "fid", lower=True) == [(2, 7.0)]


def test_every_run_has_its_own_course_with_what_it_took(engine: Engine) -> None:
    one, two = training(engine), training(engine)
    for own in (one, two):
        reports.add_grid(engine, **own, epoch=-1, rows=1, columns=1, png=b"real")
        evaluate(engine, own, 2, fid=8.0)
        reports.add_grid(engine, **own, epoch=2, rows=1, columns=1, png=b"x")
        evaluate(engine, own, 3, fid=6.0)
    evaluate(engine, two, 1, fid=20.0)
    found = past_runs.improvements(engine, "fid", lower=True)
    assert list(zip(found["run_id"], found["epoch"], strict=True)) == sorted(
        [(one["run_id"], 2), (one["run_id"], 3)] + [(two["run_id"], epoch) for epoch in (1, 2, 3)]
    )
    by_epoch = found[found["run_id"] == two["run_id"]].set_index("epoch")
    first, third = by_epoch.loc[1], by_epoch.loc[3]
    assert (first["value"], first["training_seconds"], first["steps"]) == (20.0, 10.0, STEPS)
    assert math.isnan(first["grid"])
    assert (third["steps"], third["grid"], third["training_seconds"]) == (3 * STEPS, 2, 30.0)
    assert 0 <= first["submitted_seconds"] < 60


def test_a_checkpoint_that_is_evaluated_later_was_trained_before(engine: Engine) -> None:
    own = training(engine)
    steps(engine, own, 1, 0, [1.0] * STEPS)
    finish_epoch(engine, own, 1)
    evaluate(engine, own, 1, fid=8.0)
    found = past_runs.improvements(engine, "fid", lower=True)
    with reading(engine) as session:
        run = session.get_one(Run, own["run_id"])
        epoch = session.get_one(Epoch, (own["run_id"], 1))
    (submitted_seconds,) = found["submitted_seconds"]
    assert submitted_seconds == (epoch.finished_at - run.created_at).total_seconds()


def test_runs_with_evaluations_and_what_compares_them(engine: Engine) -> None:
    submitted(engine)
    own = training(engine)
    assert past_runs.evaluated_runs(engine) == []
    before = past_runs.evaluations_version(engine)
    evaluate(engine, own, 1, fid=8.0)
    once = past_runs.evaluations_version(engine)
    evaluate(engine, own, 1, fid=7.0)  # again
    assert len({before, once, past_runs.evaluations_version(engine)}) == 3
    reports.add_facts(engine, **own, values={"quality_features": "encoder 0", "other": 1})
    (found,) = past_runs.evaluated_runs(engine, "quality_features", "data_revision")
    assert found.run_id == own["run_id"]
    assert found.facts == {"quality_features": "encoder 0"}
    assert found.hardware == {"host": "box"}
