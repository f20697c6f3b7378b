"""What was saved comes back to the bit, and only where nobody works."""

from __future__ import annotations

import sqlite3
import stat
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from ganboard.db import heartbeats, versions
from ganboard.db.engine import make_engine
from ganboard.db.models import INFERENCE, TRAINING
from ganboard.db.runs import commands, queries
from ganboard.db.settings import Settings
from ganboard.worker.atomic_swap import RestoreRefused
from ganboard.worker.backup import backup as saving
from ganboard.worker.backup import restore
from ganboard.worker.backup.backup import DATABASE
from ganboard.worker.context import Context, open_context
from ganboard.worker.registry import versions as models
from tests.attempt import claimed
from tests.cli import document, ganboard, refused
from tests.registered import DCGAN, config, finished
from tests.unit.worker.backup.archives import QUIET, elsewhere, files, rewritten, rows


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


def test_a_disk_without_room_is_refused_at_once(
    archive: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(restore, "SPARE_BYTES", 1e18)
    with pytest.raises(RestoreRefused, match="Free some space"):
        restore.restore(elsewhere(tmp_path), archive, QUIET)


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
