"""Samples of processes and devices: stored under the fence, thinned, gone with their run."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import Engine

from ganboard.db.curves import usage
from ganboard.db.errors import LeaseLost
from ganboard.db.models import UsageSample
from tests.unit.db.stored_runs import training

START = datetime(2026, 1, 2, tzinfo=UTC)


def test_samples_are_stored_thinned_and_fenced(engine: Engine) -> None:
    own = training(engine)
    for second in range(7):
        at = START + timedelta(seconds=second)
        rows = [
            UsageSample(**own, at=at, name="Trainer", pid=4, cpu_percent=150.0, rss_bytes=1e9),
            UsageSample(**own, at=at, name="Processors", note="of a reason"),
        ]
        usage.add(engine, rows)
        usage.add(engine, [UsageSample(**row.model_dump()) for row in rows])  # is harmless
    found = usage.of_run(engine, own["run_id"])
    assert [one.name for one in found[:2]] == ["Processors", "Trainer"]
    assert len(found) == 14
    thin = usage.of_run(engine, own["run_id"], points=3)
    assert [one.at for one in thin[::2]] == [START + timedelta(seconds=s) for s in (0, 3, 6)]
    with pytest.raises(LeaseLost):
        usage.add(engine, [UsageSample(**{**own, "attempt": 9}, at=START, name="Trainer")])
