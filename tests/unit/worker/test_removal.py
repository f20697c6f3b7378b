"""Runs leave the trash with all their files: at once, or when a worker sees that a week is over."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from redis import Redis
from sqlalchemy import update
from sqlmodel import col

from ganboard.db import clock
from ganboard.db.engine import writing
from ganboard.db.errors import NotAllowed, UnknownRun
from ganboard.db.models import Run
from ganboard.db.runs import queries, trash
from ganboard.worker import removal
from ganboard.worker.context import Context
from ganboard.worker.queue.reconcile import reconcile

MakeRun = Callable[..., Run]


def with_files(context: Context, run: Run) -> Path:
    folder = context.settings.run_dir(run.id)
    (folder / "checkpoints" / "ckpt-4-1").mkdir(parents=True)
    (folder / "train.log").write_text("a line")
    return folder


def age(context: Context, run: Run, seconds: float) -> None:
    """As if it had been moved to the trash so long ago."""
    trash.move(context.engine, run_id=run.id)
    with writing(context.engine) as session:
        moved = update(Run).where(col(Run.id) == run.id)
        session.execute(moved.values(deleted_at=clock.now(-seconds)))


def test_a_run_is_removed_with_its_files(context: Context, make_run: MakeRun) -> None:
    run = make_run()
    folder = with_files(context, run)
    assert removal.remove(context, run.id) == []
    assert queries.get_run(context.engine, run.id, trash_too=True) is None
    assert not folder.exists()
    with pytest.raises(UnknownRun):
        removal.remove(context, run.id)
    running = make_run(status="running")
    with pytest.raises(NotAllowed, match="Stop it"):
        removal.remove(context, running.id)


def test_a_worker_removes_what_has_been_in_the_trash_for_a_week(
    context: Context, make_run: MakeRun, redis: Redis
) -> None:
    over, nearly = make_run("over"), make_run("nearly")
    gone, kept = (with_files(context, run) for run in (over, nearly))
    age(context, over, trash.KEPT_SECONDS + 1)
    age(context, nearly, trash.KEPT_SECONDS - 60)
    reconcile(context, redis)
    assert not gone.exists()
    assert kept.exists()
    assert queries.get_run(context.engine, over.id, trash_too=True) is None
    trash.restore(context.engine, run_id=nearly.id)
    assert (kept / "train.log").read_text() == "a line"
