"""Explanations of stored runs."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from sqlmodel import col, update

from ganboard.db.engine import writing
from ganboard.db.errors import NotAllowed
from ganboard.db.models import Epoch, Metric, Run
from ganboard.worker import diagnosis
from ganboard.worker.context import Context
from tests.factories import lose_model

MakeRun = Callable[..., Run]
TRAINED = {"epochs": 8, "steps_per_epoch": 40, "quality_every": 1, "model": "dcgan"}


def test_a_run_that_improves_has_no_finding(context: Context, make_run: MakeRun) -> None:
    found = diagnosis.explained(context.engine, make_run(**TRAINED))
    assert found.findings == []
    assert any("8 evaluations" in sentence for sentence in found.checked)


def test_findings_come_from_what_is_stored(context: Context, make_run: MakeRun) -> None:
    run = make_run(**TRAINED)
    with writing(context.engine) as session:
        few = (col(Metric.run_id) == run.id, col(Metric.name) == "diversity")
        late = col(Metric.epoch).in_([6, 7])
        session.execute(update(Metric).where(*few, late).values(value=0.1))
        slow = (col(Epoch.run_id) == run.id, col(Epoch.epoch) == 4)
        session.execute(update(Epoch).where(*slow).values(seconds=30.0, attempt=2))
        after = (col(Epoch.run_id) == run.id, col(Epoch.epoch) > 4)
        session.execute(update(Epoch).where(*after).values(attempt=2))
    found = diagnosis.explained(context.engine, run)
    assert [(one.kind, one.first, one.last) for one in found.findings] == [
        ("collapse", 6, 7),
        ("slow_epochs", 4, 4),
        ("restarts", 4, 4),
    ]
    stored = json.loads(json.dumps(diagnosis.document(found)))
    assert stored["findings"][0]["remedy"] == {"beta_1": 0.5}


def test_a_run_of_which_nothing_can_be_said_says_why(context: Context, make_run: MakeRun) -> None:
    queued = make_run("waiting", status="queued")
    with pytest.raises(NotAllowed, match="has not taken a step"):
        diagnosis.explained(context.engine, queued)
    orphan = make_run("orphan", status="stopped")
    lose_model(context, orphan)
    with writing(context.engine) as session:
        stored = session.get_one(Run, orphan.id)
        session.refresh(stored)
    with pytest.raises(NotAllowed, match="model=gone"):
        diagnosis.explained(context.engine, stored)
