"""A backup is whole while trainings go on, and leaves nothing behind when it cannot be written."""

from __future__ import annotations

import shutil
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from ganboard.db import transfer
from ganboard.db.runs import queries, trash
from ganboard.gan.checkpoint import reader
from ganboard.worker.backup import backup as saving
from ganboard.worker.backup import restore
from ganboard.worker.backup.backup import BackupFailed
from ganboard.worker.context import Context, open_context
from tests.attempt import claimed, finish_epoch
from tests.polling import wait_until
from tests.unit.worker.backup.archives import QUIET, elsewhere, files, save


def test_leftovers_and_what_was_set_aside_stay_out(filled: Context, tmp_path: Path) -> None:
    run = queries.list_runs(filled.engine)[0]
    folder = filled.settings.run_dir(run.id)
    before = files(filled.settings)
    shutil.copytree(folder / "checkpoints" / "ckpt-4-2", folder / "checkpoints" / "ckpt-12-2.tmp")
    shutil.copytree(
        folder / "checkpoints" / "ckpt-4-2", folder / "checkpoints" / "aside-0-ckpt-4-1"
    )
    (folder / "checkpoints" / "ckpt-16-2").mkdir()  # without its files
    (folder / "snapshots" / ".epoch-2.tmp").touch()
    (folder / "my own notes.txt").touch()
    (folder / "link").symlink_to("/etc/passwd")
    made = saving.backup(filled, tmp_path / "saved.zip", QUIET)
    assert made.left_out == 1
    there = elsewhere(tmp_path)
    restore.restore(there, tmp_path / "saved.zip", QUIET)
    assert files(there) == before


def test_the_trash_is_part_of_a_backup(filled: Context, tmp_path: Path) -> None:
    run, _ = queries.list_runs(filled.engine)
    trash.move(filled.engine, run_id=run.id)
    saving.backup(filled, tmp_path / "saved.zip", QUIET)
    there = elsewhere(tmp_path)
    restore.restore(there, tmp_path / "saved.zip", QUIET)
    assert files(there) == files(filled.settings)
    engine = open_context(there, pooled=False).engine
    assert trash.count(engine) == 1
    assert trash.restore(engine, run_id=run.id).name == run.name
    assert queries.checkpoints(engine, run.id)


def test_a_backup_during_a_training_is_whole(
    context: Context, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transfer, "PAGES", 1)
    run = claimed(context, epochs=9999)
    log = context.settings.log_path(run.id)
    done, epochs = threading.Event(), [0]

    def train() -> None:
        while not done.is_set():
            epochs[0] += 1
            finish_epoch(context, run, epochs[0], 0.5, 0.5)
            save(context, run.id, 4 * epochs[0])
            with log.open("a") as file:
                file.write(f"epoch {epochs[0]}\n")

    trainer = threading.Thread(target=train)
    trainer.start()
    try:
        wait_until(lambda: epochs[0] > 3, seconds=20, what="some epochs")
        for number in range(4):
            saving.backup(context, tmp_path / f"{number}.zip", QUIET)
    finally:
        done.set()
        trainer.join()
    for number in range(4):
        there = elsewhere(tmp_path, f"home{number}")
        found = restore.restore(there, tmp_path / f"{number}.zip", QUIET)
        assert found.queued == 1
        opened = open_context(there)
        stored = queries.get_run(opened.engine, run.id)
        assert stored is not None
        assert (stored.status, stored.lease_until, stored.worker) == ("queued", None, None)
        assert [epoch.epoch for epoch in queries.epochs(opened.engine, run.id)] == list(
            range(1, stored.epoch + 1)
        )
        folder = there.run_dir(run.id) / "checkpoints"
        listed = {(row.step, row.attempt) for row in queries.checkpoints(opened.engine, run.id)}
        there_are = reader.complete(folder)
        assert listed <= {(step, attempt) for step, attempt, _ in there_are}
        steps = [step for step, _, _ in there_are]
        assert min(steps) <= 4 * stored.epoch  # one that is no newer than the rows
        for step in steps:
            assert (reader.part(folder, step, "g/")["g/0"] == step).all()
        opened.engine.dispose()


def test_a_backup_that_cannot_be_written_leaves_nothing(filled: Context, tmp_path: Path) -> None:
    with pytest.raises(BackupFailed, match="No such file or directory"):
        saving.backup(filled, tmp_path / "nowhere" / "saved.zip", QUIET)
    limited = f"""
import resource, signal
from pathlib import Path
from ganboard.worker.context import open_context
from ganboard.worker.backup.backup import backup
from ganboard.worker.terminal.progress_bar import ProgressBar
context = open_context()
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))
try:
    backup(context, Path({str(tmp_path / "full.zip")!r}), ProgressBar("", "bytes", quiet=True))
except Exception as error:
    print(type(error).__name__, error)
"""
    ran = subprocess.run([sys.executable, "-c", limited], capture_output=True, text=True)
    assert ran.stdout.startswith("BackupFailed"), ran
    assert sorted(path.name for path in tmp_path.iterdir()) == ["home"]
