"""A home with finished runs, and an archive of it."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from ganboard.db.models import Run
from ganboard.db.runs import commands
from ganboard.worker.backup import backup as saving
from ganboard.worker.context import Context
from tests.unit.worker.backup.archives import QUIET, save

MakeRun = Callable[..., Run]


@pytest.fixture
def filled(context: Context, make_run: MakeRun) -> Context:
    """Two finished runs with files, beside leftovers that no backup should have."""
    for name in ("one", "two 漢字"):
        run = make_run(name, status="stopped", epochs=2)
        with sqlite3.connect(context.settings.state / "ganboard.db") as connection:
            connection.execute("DELETE FROM checkpoint WHERE run_id = ?", (run.id,))
        connection.close()
        folder = context.settings.run_dir(run.id)
        commands.resume(context.engine, run_id=run.id)
        claim = commands.claim(context.engine, run_id=run.id, worker="w")
        assert claim is not None
        for step in (4, 8):
            save(context, run.id, step, attempt=claim.attempt)
        commands.finish(context.engine, run_id=run.id, attempt=claim.attempt, status="finished")
        (folder / "train.log").write_text("--- attempt 1 ---\nlög\n")
        (folder / "snapshots").mkdir()
        (folder / "snapshots" / "epoch-1.npz").write_bytes(os.urandom(5000))
    return context


@pytest.fixture
def archive(filled: Context, tmp_path: Path) -> Path:
    path = tmp_path / "saved.zip"
    saving.backup(filled, path, QUIET)
    return path
