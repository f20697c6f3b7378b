"""The training table and the overfitting of pix2pix on the vortex street."""

from __future__ import annotations

import numpy as np
import pytest
from sqlalchemy import update
from sqlmodel import col

from ganboard.db.engine import writing
from ganboard.db.models import Metric
from ganboard.worker.context import Context
from ganboard.worker.studies.results.study_data import NOT_HERE, REPRODUCED, UNTESTED
from tests.unit.worker.studies.results.study_runs import PIX2PIX, MakeRun, made, seeded


def test_the_training_table_has_their_seconds_beside_ours(
    context: Context, make_run: MakeRun
) -> None:
    for batch, seconds in ((8, 40.0), (16, 30.0), (64, 20.0)):
        seeded(make_run, batch, seconds, **PIX2PIX)
    found = made(context, "training-table")
    assert found.verdict == REPRODUCED
    assert (
        "An epoch takes 40 s at batch 8, 30 s at batch 16, 20 s at batch 64: -50 % from 8 to 64."
        in found.finding
    )
    assert "-19 % on RTX A6000, -49 % on TPU v4" in found.finding
    table = found.table.set_index("batch_size")
    assert table["theirs: TPU v3"].dropna().to_dict() == {8: 2383.0, 16: 1438.0}
    assert table.loc[64, ["seconds", "first_epoch", "whole_run", "gain"]].tolist() == pytest.approx(
        [20.0, 25.0, 120.0, 2.0]
    )
    assert np.isnan(table.loc[32, "seconds"])
    assert found.figure is not None
    here, *theirs = found.figure.data
    assert (here.name, list(here.x), list(here.y)) == (
        "Here",
        [8, 16, 64],
        pytest.approx([1, 0.75, 0.5]),
    )
    assert list(theirs[0].y) == pytest.approx([1, 3385 / 3451, 3133 / 3451, 2790 / 3451])


def test_overfitting_is_evaluated_once_the_flow_is_better_than_one_that_does_not_move(
    context: Context, make_run: MakeRun
) -> None:
    for batch in (8, 16):
        seeded(make_run, batch, 10.0, quality_every=1, **PIX2PIX)
    # the factory's L1 is above that of a flow that stands still
    found = made(context, "overfitting")
    assert found.verdict == UNTESTED
    assert "no network is better yet" in found.finding
    assert set(found.table["batch_size"]) == {8, 16}
    assert (found.table["gap"] == found.table["l1"] - found.table["l1_train"]).all()
    assert found.figure is not None
    assert len(found.figure.data) == 5
    for l1, verdict in ((0.012, REPRODUCED), (0.0102, NOT_HERE)):
        with writing(context.engine) as session:
            for name, value in {"l1": l1, "l1_train": 0.01, "l1_standing": 0.02}.items():
                session.execute(update(Metric).where(col(Metric.name) == name).values(value=value))
        assert made(context, "overfitting").verdict == verdict
