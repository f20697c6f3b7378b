"""What an imported evaluation may hold."""

from __future__ import annotations

import math

import pytest
from pydantic import ValidationError

from ganboard.gan.quality.declared import METRICS
from ganboard.worker.interchange.schema import RunDocument

EVALUATION = {
    "epoch": 1,
    "attempt": 1,
    "made_at": "2026-02-28T23:59:59Z",
    "seconds": 0.5,
    "training_seconds": 2.0,
    "histogram": [],
}
RUN = {
    "id": "abcdefghjk",
    "name": "a run",
    "status": "finished",
    "config": {},
    "created_at": "2026-02-28T23:59:59Z",
    "queued_at": "2026-02-28T23:59:59Z",
    "attempt": 1,
    "epoch": 0,
    "step": 0,
    "seconds": 0.0,
    "facts": {},
    "epochs": [],
}


def test_declared_metrics_are_read_and_others_ignored() -> None:
    values = {name: place / 8 for place, name in enumerate(METRICS)}
    document = RunDocument.model_validate(
        {**RUN, "quality": [{**EVALUATION, **values, "of another version": 1.0}]}
    )
    found = document.quality[0].model_dump()
    assert {name: found[name] for name in METRICS} == values
    assert "of another version" not in found


def test_a_metric_that_is_missing_or_null_was_not_measured() -> None:
    document = RunDocument.model_validate({**RUN, "quality": [{**EVALUATION, "fid": None}]})
    found = document.quality[0].model_dump()
    assert {found[name] for name in METRICS} == {None}


def test_a_metric_is_a_number() -> None:
    with pytest.raises(ValidationError, match="fid"):
        RunDocument.model_validate({**RUN, "quality": [{**EVALUATION, "fid": "low"}]})
    infinite = {**RUN, "quality": [{**EVALUATION, "fid": math.inf}]}
    assert RunDocument.model_validate(infinite).quality[0].model_dump()["fid"] == math.inf
