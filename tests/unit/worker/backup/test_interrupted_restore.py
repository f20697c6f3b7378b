"""A restore that is killed leaves the old or the new state, and nothing between."""

from __future__ import annotations

import json
import os
import shutil
import signal
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pytest

from ganboard.db import replacement, transfer
from ganboard.db.runs import commands
from ganboard.db.settings import Settings
from ganboard.worker import atomic_swap
from ganboard.worker.atomic_swap import JOURNAL, RestoreRefused
from ganboard.worker.backup import restore
from ganboard.worker.context import Context, open_context
from tests.unit.worker.backup.archives import QUIET, elsewhere, files, rows

IN_FORK = get_context("fork")


def _killed_at(call: int, settings: Settings, archive: Path, force: bool) -> None:
    """Restore in this process, and be killed in place of the given call that changes the disk."""
    left = [call]

    def counted(made: Any) -> Any:
        def instead(*arguments: Any, **options: Any) -> Any:
            left[0] -= 1
            if left[0] < 0:
                os.kill(os.getpid(), signal.SIGKILL)
            return made(*arguments, **options)

        return instead

    for name in ("rename", "replace", "link", "unlink", "mkdir", "fsync", "sync", "rmdir"):
        setattr(os, name, counted(getattr(os, name)))
    for name in ("open_copy", "load", "save_settled"):
        setattr(transfer, name, counted(getattr(transfer, name)))
    setattr(replacement, "mark", counted(replacement.mark))  # noqa: B010
    restore.restore(settings, archive, QUIET, force=force)


@pytest.mark.parametrize("force", [False, True], ids=["empty", "force"])
@pytest.mark.thorough
def test_a_restore_killed_anywhere_leaves_the_old_or_the_new_state(
    filled: Context, archive: Path, tmp_path: Path, force: bool
) -> None:
    new = (files(filled.settings), rows(filled.settings))
    origin = elsewhere(tmp_path, "origin")
    context = open_context(origin)
    (origin.state / "runs").mkdir()
    if force:
        run = commands.create_run(context.engine, name="old", config={})
        origin.run_dir(run.id).mkdir(parents=True)
        origin.log_path(run.id).write_text("old")
    context.engine.dispose()
    old = (files(origin), rows(origin))
    seen = set()
    for call in range(1000):
        there = elsewhere(tmp_path, f"home{call}")
        shutil.copytree(origin.state, there.state)
        child = IN_FORK.Process(target=_killed_at, args=(call, there, archive, force))
        child.start()
        child.join()
        rows_now = rows(there)  # opening it completes or undoes what was begun
        now = (files(there), rows_now)
        assert now in (old, new), call
        seen.add(now == new)
        assert not list(there.state.glob("*restore*.tmp*")), call
        assert not (there.state / JOURNAL).exists()
        if child.exitcode == 0:
            break
        assert child.exitcode == -signal.SIGKILL
        shutil.rmtree(there.state)
    assert seen == {False, True}
    assert call > 10
    assert now == new


def test_while_a_restore_is_under_way_nobody_opens_the_home(archive: Path, tmp_path: Path) -> None:
    there = elsewhere(tmp_path)
    there.state.mkdir()
    (there.state / JOURNAL).touch()
    with atomic_swap.alone_restoring(there), pytest.raises(RestoreRefused, match="in progress"):
        open_context(there)
    open_context(there).engine.dispose()  # the one that held it is gone
    assert not (there.state / JOURNAL).exists()


def test_a_restore_cut_short_is_not_compared_with_another_database(
    archive: Path, tmp_path: Path
) -> None:
    there = elsewhere(tmp_path)
    there.state.mkdir()
    (there.state / JOURNAL).write_text(
        json.dumps({"token": 1, "aside": None, "database": "another"})
    )
    with pytest.raises(RestoreRefused, match="Set GANBOARD_DATABASE_URL to that database"):
        open_context(there)
