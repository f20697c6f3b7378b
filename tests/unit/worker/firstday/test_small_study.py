"""The study's runs, trained by a stand-in."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ganboard.db.errors import LeaseLost
from ganboard.db.models import ENDED
from ganboard.db.runs import annotations, commands, queries
from ganboard.worker.context import Context
from ganboard.worker.firstday import small_study
from ganboard.worker.queue import job
from tests.unit.worker.firstday.days import CPU, make_day


@pytest.fixture
def trained(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Ids of the runs that were trained; each ends as failed at once."""
    found: list[str] = []

    def train(context: Context, run_id: str, view: Any) -> None:
        found.append(run_id)
        claim = commands.claim(context.engine, run_id=run_id, worker="test")
        assert claim is not None
        commands.finish(
            context.engine, run_id=run_id, attempt=claim.attempt, status="failed", error="no device"
        )

    monkeypatch.setattr(job, "train_here", train)
    return found


def test_every_run_is_trained_and_tagged(
    context: Context, tmp_path: Path, trained: list[str]
) -> None:
    day = make_day(context, tmp_path, CPU)
    found = small_study.study(day)
    assert len(trained) == len(day.runs) == 4
    assert (found.status, len(found.rows)) == ("fail", 4)
    assert "no device" in found.text
    tags = annotations.tags_of(context.engine, day.runs)
    assert all(tags[run_id] == [small_study.TAG] for run_id in day.runs)


def test_without_time_runs_are_listed_and_nobody_trains_them_later(
    context: Context, tmp_path: Path, trained: list[str]
) -> None:
    day = make_day(context, tmp_path, CPU)
    day.part_ends = day.ends - 595
    found = small_study.study(day)
    assert trained == []
    assert (found.status, len(found.not_done)) == ("not done", 4)
    assert {run.status for run in queries.list_runs(context.engine)} <= set(ENDED)


def test_a_run_that_a_worker_has_is_waited_for(
    context: Context, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def taken(context: Context, run_id: str, view: Any) -> None:
        commands.request_stop(context.engine, run_id=run_id)
        raise LeaseLost("taken")

    monkeypatch.setattr(job, "train_here", taken)
    found = small_study.study(make_day(context, tmp_path, CPU))
    assert found.status == "not done"
