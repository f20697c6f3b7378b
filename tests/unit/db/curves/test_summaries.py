"""One number per run of stored metrics, on SQLite and PostgreSQL."""

from __future__ import annotations

import math

import numpy as np
import pytest
from sqlalchemy import Engine

from ganboard.db.curves import summaries
from ganboard.db.engine import writing
from ganboard.db.models import LoggedValues, Run, StepSeries
from ganboard.db.runs import reports
from tests.unit.db.stored_runs import finish_epoch, training


def test_last_smallest_and_largest_of_what_is_stored(engine: Engine) -> None:
    own = training(engine)
    run_id = own["run_id"]
    for epoch in (1, 2, 3):
        finish_epoch(engine, own, epoch, measures={"step_p50": 0.1 * epoch})
    with writing(engine) as session:
        run = session.get_one(Run, run_id)
        run.images_per_second, run.examples = 12.5, 1000
        for block, values in ((0, [3.0, math.nan]), (1, [1.0, 2.0])):
            steps = np.arange(2.0) + block
            row = {"steps": steps, "times": steps, "values": np.array(values)}
            session.add(LoggedValues(run_id=run_id, name="val/loss", block=block, **row))
        for epoch in (1, 2):
            series = {"attempt": 1, "values": np.array([0.5, epoch], np.float32)}
            session.add(StepSeries(run_id=run_id, epoch=epoch, name="own", **series))
    for epoch, fid in ((1, 9.0), (2, math.nan), (3, 7.0)):
        reports.add_quality(
            engine,
            **own,
            epoch=epoch,
            seconds=1.0,
            training_seconds=2.0,
            measures={"fid": fid, "kid": math.inf},
            histogram=(),
        )
    wanted = [
        ("min", "fid"),
        ("max", "fid"),
        ("last", "fid"),
        ("last", "kid"),
        ("min", "kid"),
        ("last", "epoch"),
        ("last", "images_per_second"),
        ("max", "images_per_second"),
        ("last", "val/loss"),
        ("min", "val/loss"),
        ("max", "val/loss"),
        ("last", "own"),
        ("last", "nothing"),
        ("last", "step_p50"),
        ("max", "epoch_seconds"),
        ("last", "g_loss_mean"),
    ]
    read = summaries.read(engine, wanted, ["step_p50"])
    found = {one: values.get(run_id) for one, values in read.items()}
    assert found["last", "step_p50"] == pytest.approx(0.3)
    assert (found["min", "fid"], found["max", "fid"], found["last", "fid"]) == (7, 9, 7)
    assert found["last", "kid"] is found["min", "kid"] is found["last", "nothing"] is None
    assert (found["last", "epoch"], found["last", "images_per_second"]) == (3, 12.5)
    assert [found[one, "val/loss"] for one in ("last", "min", "max")] == [2, 1, 3]
    assert found["last", "own"] == 2
    assert found["max", "images_per_second"] > 0
    assert found["max", "epoch_seconds"] > 0
    assert found["last", "g_loss_mean"] is not None
    assert summaries.read(engine, wanted[:1], [], []) == {("min", "fid"): {}}
    known = summaries.known(engine, ["step_p50"])
    assert {"fid", "own", "val/loss", "step_p50", "g_loss", "epoch_seconds"} <= {*known}
