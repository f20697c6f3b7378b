"""Evaluations of stored checkpoints: what there is to evaluate, and results beside those of
training."""

from __future__ import annotations

from typing import Any

import pytest
from sqlalchemy import Engine

from ganboard.db.errors import NotAllowed, UnknownRun
from ganboard.db.runs import commands, evaluations, queries, reports
from ganboard.db.runs.listing import ended_version, list_all
from tests.unit.db.stored_runs import STEPS, checkpoint, finish_epoch, quality, steps, training

FACT = "encoder 0123456789abcdef"


def evaluated(own: dict[str, Any], epoch: int, fid: float = 7.5, **changes: Any) -> dict[str, Any]:
    return {
        **own,
        "epoch": epoch,
        "seconds": 0.5,
        "preparation_seconds": 2.0,
        "training_seconds": 3.0,
        "measures": {"fid": fid},
        "histogram": [0.25, 0.75],
        "facts": {"quality_features": FACT, "last": epoch},
        **changes,
    }


def trained(engine: Engine) -> dict[str, Any]:
    """A finished run with checkpoints of epochs 1 to 3, and one within epoch 4."""
    own = training(engine)
    for step in (STEPS, 2 * STEPS, 3 * STEPS, 3 * STEPS + 1):
        checkpoint(engine, own, step, keep=9)
    commands.finish(engine, **own, status="stopped")
    return own


def test_what_is_pending_are_ends_of_epochs_after_the_last_evaluation(engine: Engine) -> None:
    own, other = trained(engine), training(engine)
    checkpoint(engine, other, 1)
    run_id = own["run_id"]
    both = [run_id, other["run_id"]]
    assert evaluations.pending(engine, both) == {run_id: [1, 2, 3]}
    assert evaluations.last_epochs(engine) == {}
    assert evaluations.add(engine, **evaluated(own, 2))
    assert evaluations.pending(engine, both) == {run_id: [3]}
    assert evaluations.last_epochs(engine, both) == evaluations.last_epochs(engine) == {run_id: 2}
    assert evaluations.last_epochs(engine, []) == evaluations.pending(engine, []) == {}


def test_it_is_stored_as_training_would_with_an_event(engine: Engine) -> None:
    own = trained(engine)
    before = ended_version(engine)
    assert evaluations.add(engine, **evaluated(own, 3))
    assert ended_version(engine) != before
    run_id = own["run_id"]
    [found] = queries.qualities(engine, run_id)
    assert (found.epoch, found.attempt, found.measures) == (3, own["attempt"], {"fid": 7.5})
    assert (found.seconds, found.preparation_seconds, found.training_seconds) == (0.5, 2.0, 3.0)
    assert found.histogram.tolist() == [0.25, 0.75]
    [run] = list_all(engine)
    assert (run.fid_encoder, run.fid) == (7.5, None)
    newest = queries.events(engine, run_id)[0]
    assert newest.text == "Evaluated on request, from the checkpoint of epoch 3."


def test_its_time_is_that_of_the_epoch(engine: Engine) -> None:
    own = training(engine)
    steps(engine, own, 1, 0, [0.5] * STEPS)
    finish_epoch(engine, own, 1)
    commands.finish(engine, **own, status="finished")
    assert evaluations.add(engine, **evaluated(own, 1))
    [done], [found] = (
        queries.epochs(engine, own["run_id"]),
        queries.qualities(engine, own["run_id"]),
    )
    assert found.made_at == done.finished_at


def test_nothing_is_overwritten_and_a_repetition_leaves_no_trace(engine: Engine) -> None:
    own = training(engine)
    quality(engine, own, 2, fid=1.0)
    reports.add_facts(engine, **own, values={"last": "training"})
    commands.finish(engine, **own, status="finished")
    events = len(queries.events(engine, own["run_id"]))
    assert not evaluations.add(engine, **evaluated(own, 2))
    [found] = queries.qualities(engine, own["run_id"])
    assert (found.measures, found.training_seconds) == ({"fid": 1.0}, 2.0)
    assert len(queries.events(engine, own["run_id"])) == events
    # an older one fills gaps; a newer one replaces what was known of the last evaluation
    assert evaluations.add(engine, **evaluated(own, 1))
    facts = queries.find_run(engine, own["run_id"]).facts
    assert (facts["last"], facts["quality_features"]) == ("training", FACT)
    assert evaluations.add(engine, **evaluated(own, 3))
    assert queries.find_run(engine, own["run_id"]).facts["last"] == 3
    assert [one.epoch for one in queries.qualities(engine, own["run_id"])] == [1, 2, 3]


def test_training_replaces_it_and_another_attempt_refuses_it(engine: Engine) -> None:
    own = trained(engine)
    assert evaluations.add(engine, **evaluated(own, 3))
    commands.resume(engine, run_id=own["run_id"])
    claim = commands.claim(engine, run_id=own["run_id"], worker="w-2", lease_seconds=60)
    assert claim is not None
    with pytest.raises(NotAllowed, match="was resumed while it was evaluated"):
        evaluations.add(engine, **evaluated(own, 2))
    now = {"run_id": own["run_id"], "attempt": claim.attempt}
    quality(engine, now, 3, fid=1.0)
    [found] = queries.qualities(engine, own["run_id"])
    assert (found.attempt, found.measures) == (claim.attempt, {"fid": 1.0})


def test_a_run_that_is_gone_is_named(engine: Engine) -> None:
    own = trained(engine)
    commands.delete_run(engine, run_id=own["run_id"])
    with pytest.raises(UnknownRun, match=own["run_id"]):
        evaluations.add(engine, **evaluated(own, 3))


def test_the_lowest_of_a_metric_leaves_out_what_is_not_finite(engine: Engine) -> None:
    own, other = trained(engine), trained(engine)
    for epoch, fid in enumerate((9.0, float("nan"), float("inf")), 1):
        evaluations.add(engine, **evaluated(own, epoch, fid))
    evaluations.add(engine, **evaluated(other, 1, float("nan")))
    ids = [own["run_id"], other["run_id"]]
    assert evaluations.best(engine, ids, "fid") == {own["run_id"]: 9.0}
    assert evaluations.best(engine, ids, "l1") == {}
