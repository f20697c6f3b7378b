"""A backup is whole while trainings go on, and a restore is all or nothing: kills, damage and
hostile archives included."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import sqlite3
import stat
import subprocess
import sys
import threading
import zipfile
from collections.abc import Callable
from contextlib import closing
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ganboard.db import heartbeats, replacement, transfer, versions
from ganboard.db.engine import make_engine
from ganboard.db.models import INFERENCE, TRAINING, Run
from ganboard.db.runs import commands, queries
from ganboard.db.settings import Settings
from ganboard.gan.checkpoint import reader, store
from ganboard.gan.progress import Progress
from ganboard.worker import atomic_swap
from ganboard.worker.atomic_swap import JOURNAL, RestoreRefused
from ganboard.worker.backup import backup as saving
from ganboard.worker.backup import restore
from ganboard.worker.backup.backup import DATABASE, MANIFEST, BackupFailed
from ganboard.worker.backup.restore import BadBackup
from ganboard.worker.context import Context, open_context
from ganboard.worker.registry import versions as models
from ganboard.worker.terminal.progress_bar import ProgressBar
from tests.attempt import claimed, finish_epoch
from tests.cli import document, ganboard, refused
from tests.polling import wait_until
from tests.registered import DCGAN, config, finished
from tests.unit.db.stored_runs import contents

MakeRun = Callable[..., Run]
QUIET = ProgressBar("backup", "bytes", quiet=True)
IN_FORK = get_context("fork")


def save(context: Context, run_id: str, step: int, *, attempt: int = 1, keep: int = 3) -> None:
    """A checkpoint as the trainer saves and lists it."""
    from ganboard.db.runs import checkpoint_reports

    arrays = {"g/0": np.full(1000, step, np.float32)}
    folder = context.settings.run_dir(run_id) / "checkpoints"
    saved = store.save(folder, arrays, Progress(step, step // 4), digest="d", attempt=attempt)
    checkpoint_reports.add_checkpoint(
        context.engine, run_id=run_id, attempt=attempt, **vars(saved), keep=keep
    )
    store.prune(folder, keep)


def files(settings: Settings) -> dict[str, bytes]:
    runs = settings.state / "runs"
    return {
        path.relative_to(runs).as_posix(): path.read_bytes()
        for path in sorted(runs.rglob("*"))
        if path.is_file()
    }


def elsewhere(tmp_path: Path, name: str = "elsewhere", **changes: Any) -> Settings:
    return Settings(home=tmp_path / name, **changes)


def rows(settings: Settings) -> dict[str, list[Any]]:
    opened = open_context(settings)
    try:
        return {**contents(opened.engine), "worker": []}
    finally:
        opened.engine.dispose()


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


# --- there and back ---


def test_everything_comes_back_to_the_bit(filled: Context, archive: Path, tmp_path: Path) -> None:
    there = elsewhere(tmp_path)
    done = restore.restore(there, archive, QUIET)
    assert (done.runs, done.queued, done.lost_checkpoints, done.aside) == (2, 0, 0, None)
    assert files(there) == files(filled.settings)
    assert len(files(there)) == 12
    assert rows(there) == rows(filled.settings)
    assert sorted(path.name for path in there.state.iterdir()) == [
        "ganboard.db",
        "restore.lock",
        "runs",
        "up.lock",
    ]


def test_registered_models_come_back(context: Context, tmp_path: Path) -> None:
    run, _ = finished(context, config(DCGAN))
    kept, removed = (models.add(context, run, "digits") for _ in range(2))
    models.remove(context, removed)
    (context.settings.state / "models" / "stray").mkdir()
    saving.backup(context, tmp_path / "saved.zip", QUIET)
    there = elsewhere(tmp_path)
    restore.restore(there, tmp_path / "saved.zip", QUIET)
    assert [path.name for path in (there.state / "models").iterdir()] == [kept.id]
    opened = open_context(there)
    [found] = versions.listed(opened.engine)
    assert models.load(opened, found).manifest == models.manifest(context, kept)
    opened.engine.dispose()
    restore.restore(there, tmp_path / "saved.zip", QUIET, force=True)  # what is there already stays
    assert models.manifest(context, kept).id == kept.id


def test_the_commands_say_what_they_did(
    filled: Context, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "saved.zip"
    said = ganboard("backup", str(path)).stdout
    assert "2 runs, 4 checkpoints and 13 files" in said
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert "Choose a new file name" in refused("backup", str(path))
    assert document("backup", str(tmp_path / "b.zip"))["runs"] == 2
    assert "already contain runs (2)" in refused("restore", str(path))
    assert "There is no file" in refused("restore", "k7m")
    monkeypatch.setenv("GANBOARD_HOME", str(tmp_path / "new"))
    assert "holds 2 runs" in ganboard("restore", str(path)).stdout
    assert len(document("runs")) == 2
    assert document("restore", str(path), "--force")["aside"].startswith(
        str(tmp_path / "new" / "before-restore-")
    )


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


def test_force_puts_the_old_state_aside(filled: Context, archive: Path, tmp_path: Path) -> None:
    there = elsewhere(tmp_path)
    old = open_context(there)
    run = commands.create_run(old.engine, name="old", config={})
    old.settings.run_dir(run.id).mkdir(parents=True)
    old.settings.log_path(run.id).write_text("old")
    with pytest.raises(
        RestoreRefused, match=r"contain runs \(1\)\. Set GANBOARD_HOME .* use --force"
    ):
        restore.restore(there, archive, QUIET)
    old.engine.dispose()
    before = rows(there)
    done = restore.restore(there, archive, QUIET, force=True)
    assert files(there) == files(filled.settings)
    assert rows(there) == rows(filled.settings)
    kept = Settings(home=Path(str(done.aside)))
    assert rows(kept) == before
    assert files(kept) == {f"{run.id}/train.log": b"old"}


def test_a_damaged_database_can_be_replaced(filled: Context, archive: Path, tmp_path: Path) -> None:
    there = elsewhere(tmp_path)
    there.state.mkdir()
    (there.state / "ganboard.db").write_bytes(b"x" * 5000)
    with pytest.raises(Exception, match="cannot be used"):
        restore.restore(there, archive, QUIET)
    done = restore.restore(there, archive, QUIET, force=True)
    assert Path(str(done.aside), "ganboard.db").read_bytes() == b"x" * 5000
    assert rows(there) == rows(filled.settings)


@pytest.mark.parametrize("who", [TRAINING, INFERENCE, "run"])
def test_nothing_is_restored_below_somebody_who_works(
    archive: Path, tmp_path: Path, who: str
) -> None:
    there = open_context(elsewhere(tmp_path), pooled=False)
    if who == "run":
        claimed(there)
    else:
        heartbeats.record(there.engine, name="box:1", kind=who, host="box", pid=1, run_id=None)
    with pytest.raises(RestoreRefused, match="still use this database"):
        restore.restore(there.settings, archive, QUIET, force=True)


def test_nothing_is_restored_into_a_file_that_is_open(archive: Path, tmp_path: Path) -> None:
    there = open_context(elsewhere(tmp_path), pooled=False)
    with there.engine.connect(), pytest.raises(RestoreRefused, match="still in use"):
        restore.restore(there.settings, archive, QUIET, force=True)


# --- while a training goes on ---


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


# --- what cannot be trusted ---


def rewritten(
    archive: Path, path: Path, change: Callable[[dict[str, bytes], dict[str, Any]], None]
) -> Path:
    """The archive with other members; `change` gets them, and the manifest without what it
    lists."""
    with zipfile.ZipFile(archive) as old:
        members = {name: old.read(name) for name in old.namelist()}
    manifest = json.loads(members.pop(MANIFEST))
    change(members, manifest)
    import hashlib

    manifest["files"] = manifest.get("files") and {
        name: {"size": len(data), "sha256": hashlib.sha256(data).hexdigest()}
        for name, data in members.items()
    }
    with zipfile.ZipFile(path, "w") as new:
        for name, data in members.items():
            new.writestr(name, data)
        new.writestr(MANIFEST, json.dumps(manifest))
    return path


def _name(name: str) -> Callable[[dict[str, bytes], dict[str, Any]], None]:
    return lambda members, _: members.update({name: b"x"})


def _changed(**changes: Any) -> Callable[[dict[str, bytes], dict[str, Any]], None]:
    return lambda _, manifest: manifest.update(changes)


HOSTILE: dict[str, tuple[Callable[[dict[str, bytes], dict[str, Any]], None], str]] = {
    "up": (_name("runs/../../evil"), "contains '..'"),
    "absolute": (_name("/etc/evil"), "absolute"),
    "elsewhere": (_name("redis/appendonly.aof"), "is not a file of a backup"),
    "hidden": (_name("runs/abc/.evil"), "is not a file of a backup"),
    "a run with dots": (_name("runs/../abc"), "contains '..'"),
    "no database": (lambda members, _: members.pop(DATABASE) and None, "is missing"),
    "no sqlite": (lambda members, _: members.update({DATABASE: b"x" * 9000}), "cannot be read"),
    "newer schema": (_changed(revision="9999"), "has schema 9999"),
    "newer format": (_changed(format=2), "has format 2"),
    "another kind": (_changed(kind="cookbook"), "is invalid"),
    "no files": (_changed(files=None), "is invalid"),
    "extra": (_changed(evil=1), "is invalid"),
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_hostile_archives_are_refused_before_anything_changes(
    archive: Path, tmp_path: Path, kind: str
) -> None:
    change, words = HOSTILE[kind]
    bad = rewritten(archive, tmp_path / "bad.zip", change)
    there = elsewhere(tmp_path)
    with pytest.raises(Exception, match=words) as refusal:
        restore.restore(there, bad, QUIET)
    assert "\n" not in str(refusal.value)
    assert not (there.state / "runs").exists()
    assert not (there.state / "ganboard.db").exists()
    assert {path.name for path in there.state.glob("restore*")} <= {"restore.lock"}
    assert not (tmp_path / "evil").exists()


def test_links_compression_and_foreign_zips_are_refused(archive: Path, tmp_path: Path) -> None:
    there = elsewhere(tmp_path)
    packed = tmp_path / "packed.zip"
    with zipfile.ZipFile(archive) as old, zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as new:
        for name in old.namelist():
            new.writestr(name, old.read(name))
    foreign = tmp_path / "foreign.zip"
    with zipfile.ZipFile(foreign, "w") as new:
        new.writestr("holiday.jpg", b"x")
    linked = tmp_path / "linked.zip"
    with zipfile.ZipFile(archive) as old, zipfile.ZipFile(linked, "w") as new:
        for name in old.namelist():
            new.writestr(name, old.read(name))
        info = zipfile.ZipInfo("runs/abc/train.log")
        info.external_attr = (stat.S_IFLNK | 0o777) << 16
        new.writestr(info, "/etc/passwd")
    for path, words in (
        (packed, "is compressed"),
        (foreign, "not made by `ganboard backup`"),
        (linked, "link or device"),
    ):
        with pytest.raises(BadBackup, match=words):
            restore.restore(there, path, QUIET)
    assert not there.state.exists()


def test_damage_is_noticed_or_harmless(filled: Context, archive: Path, tmp_path: Path) -> None:
    """Bytes changed and ends cut off anywhere: it is refused and nothing has changed, or what is
    restored is the same."""
    whole, random_ = archive.read_bytes(), random.Random(7)
    expected_files, expected_rows = files(filled.settings), rows(filled.settings)
    bad, refusals = tmp_path / "bad.zip", 0
    for number in range(60):
        data = bytearray(whole)
        if number % 3 == 0:
            del data[random_.randrange(len(data)) :]
        else:
            place = (
                random_.randrange(len(data))
                if number % 3 == 1
                else len(data) - 1 - random_.randrange(3000)
            )
            data[place] ^= 1 << random_.randrange(8)
        bad.write_bytes(data)
        there = elsewhere(tmp_path, f"home{number}")
        try:
            restore.restore(there, bad, QUIET)
        except BadBackup as error:
            refusals += "\n" not in str(error)
            assert not (there.state / "runs").exists()
            assert not (there.state / "ganboard.db").exists()
        else:
            assert files(there) == expected_files
            assert rows(there) == expected_rows
    assert refusals > 40


def test_a_disk_without_room_is_refused_at_once(
    archive: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(restore, "SPARE_BYTES", 1e18)
    with pytest.raises(RestoreRefused, match="Free some space"):
        restore.restore(elsewhere(tmp_path), archive, QUIET)


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


# --- kills ---


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


def test_runs_that_were_deleted_during_the_backup_do_not_come_back(
    filled: Context, archive: Path, tmp_path: Path
) -> None:
    def without(members: dict[str, bytes], manifest: dict[str, Any]) -> None:
        path = tmp_path / "edited.db"
        path.write_bytes(members[DATABASE])
        with closing(sqlite3.connect(path)) as connection:
            connection.execute("PRAGMA foreign_keys=ON")
            connection.execute("DELETE FROM run WHERE name = 'one'")
            connection.commit()
        members[DATABASE] = path.read_bytes()

    there = elsewhere(tmp_path)
    restore.restore(there, rewritten(archive, tmp_path / "edited.zip", without), QUIET)
    (left,) = queries.list_runs(make_engine(there.database, pooled=False))
    assert {name.split("/")[0] for name in files(there)} == {left.id}
