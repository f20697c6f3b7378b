"""Every broken state that a crash can leave, made for real: the doctor names it and its remedy, and
--fix mends what is safe."""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import socket
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest
from redis import Redis
from sqlalchemy import update
from sqlmodel import col

from ganboard.db.clock import now
from ganboard.db.engine import writing
from ganboard.db.models import Checkpoint, Run
from ganboard.db.runs import checkpoint_reports, commands, queries
from ganboard.db.settings import Settings
from ganboard.gan.checkpoint import store
from ganboard.gan.progress import Progress
from ganboard.worker import doctor
from ganboard.worker.context import Context
from ganboard.worker.doctor import database, files
from ganboard.worker.doctor.check import Check
from ganboard.worker.process import clock, machine
from ganboard.worker.registry import versions as models
from tests.cli import document, ganboard
from tests.factories import make_worker
from tests.polling import wait_until
from tests.registered import DCGAN, config, finished

MakeRun = Callable[..., Run]


def found(*, deep: bool = False) -> dict[str, Check]:
    """All checks but data sets and TensorFlow."""
    every: dict[str, Check] = {}
    for check in doctor.checks(Settings(), deep=deep):
        if check.name.startswith("data: "):
            break
        every[check.name] = check
    assert all(check.remedy for check in every.values() if check.status != "ok")
    return every


@pytest.fixture
def saved(context: Context, make_run: MakeRun) -> Path:
    """The folder of a stopped run's only checkpoint, which the database lists."""
    run = make_run(status="running", epochs=0)
    folder = context.settings.run_dir(run.id) / "checkpoints"
    saved = store.save(
        folder, {"g/0": np.ones(1000, np.float32)}, Progress(4, 1), digest="d", attempt=1
    )
    checkpoint_reports.add_checkpoint(
        context.engine, run_id=run.id, attempt=1, **vars(saved), keep=3
    )
    commands.finish(context.engine, run_id=run.id, attempt=1, status="stopped")
    return folder / "ckpt-4-1"


def make_old(path: Path) -> None:
    for one in (*path.rglob("*"), path):
        os.utime(one, (1e9, 1e9))


def test_a_sound_home_has_none_of_these(context: Context, saved: Path) -> None:
    context.settings.state.chmod(0o700)
    assert not {
        "leftovers",
        "set aside",
        "orphans",
        "checkpoints",
        "leases",
        "permissions",
        "restore",
        "port",
    } & set(found())
    assert found(deep=True)["digests"].text.startswith("1 checkpoints match their digest")


def test_checkpoints_that_are_listed_and_gone(context: Context, saved: Path) -> None:
    shutil.rmtree(saved)
    assert f"{saved.parents[1].name} step 4" in found()["checkpoints"].text


def test_checkpoints_of_another_machine_are_not_missed_here(context: Context, saved: Path) -> None:
    shutil.rmtree(saved)
    with writing(context.engine) as session:
        session.execute(update(Checkpoint).values(machine="other-ab12cd34"))
    assert "checkpoints" not in found()
    with writing(context.engine) as session:
        session.execute(update(Checkpoint).values(machine=machine.name(context.settings)))
    assert "checkpoints" in found()
    assert found()["machine"].text == machine.name(context.settings)


def test_damaged_checkpoints_are_found_by_reading_them(context: Context, saved: Path) -> None:
    data = bytearray((saved / "state.npz").read_bytes())
    data[2000] ^= 1
    (saved / "state.npz").write_bytes(data)
    assert "digests" not in found()
    assert found(deep=True)["digests"].status == "fail"
    (saved / "manifest.json").write_text("{}")
    assert "damaged checkpoints" in found(deep=True)["digests"].text


def test_leftovers_are_named_and_deleted_unless_they_are_young(
    context: Context, saved: Path
) -> None:
    young, old, snapshot = (
        saved.with_name("ckpt-8-1.tmp"),
        saved.with_name("ckpt-12-1.tmp"),
        saved.parents[1] / "snapshots" / ".epoch-1.tmp",
    )
    for folder in (young, old, snapshot.parent):
        folder.mkdir()
    (old / "state.npz").write_bytes(b"x" * 1000)
    snapshot.touch()
    make_old(old)
    make_old(snapshot)
    assert "ckpt-12-1.tmp" in found()["leftovers"].text
    assert "ckpt-8-1.tmp" not in found()["leftovers"].text
    assert len(list(doctor.mend(Settings()))) == 2
    assert (young.exists(), old.exists(), snapshot.exists(), saved.exists()) == (
        True,
        False,
        False,
        True,
    )
    assert "leftovers" not in found()


def test_models_are_compared_with_their_digests(context: Context) -> None:
    run, _ = finished(context, config(DCGAN))
    versions = [models.add(context, run, "digits") for _ in range(2)]
    assert found(deep=True)["models"].text == "2 versions match their digests"
    weights = context.settings.model_dir(versions[1].id) / "weights.npz"
    weights.write_bytes(weights.read_bytes()[:-1])
    assert found(deep=True)["models"].text == "missing or damaged: digits:2"
    stray = context.settings.state / "models" / "nobody2345"
    stray.mkdir()
    assert "models/nobody2345 without a version" in found()["orphans"].text
    half = context.settings.state / "models" / "half.tmp"
    half.mkdir()
    os.utime(half, (0, 0))
    assert "models/half.tmp" in found()["leftovers"].text


def test_what_was_set_aside_and_orphans_are_listed_with_their_size(
    context: Context, saved: Path
) -> None:
    shutil.copytree(saved, saved.with_name("aside-0-ckpt-4-1"))
    shutil.copytree(saved, context.settings.run_dir("nobody2345") / "checkpoints" / "ckpt-4-1")
    assert "aside-0-ckpt-4-1" in found()["set aside"].text
    assert "runs/nobody2345 without a run, 0.0 MB" in found()["orphans"].text
    assert list(doctor.mend(Settings())) == []  # neither is deleted without a person


def test_runs_that_nobody_trains_are_queued_again(context: Context, make_run: MakeRun) -> None:
    run = make_run(status="running")
    assert "leases" not in found()
    with writing(context.engine) as session:
        session.execute(update(Run).where(col(Run.id) == run.id).values(lease_until=now(-60)))
    assert run.id in found()["leases"].text
    assert any(run.id in line for line in document_of_fix()["mended"])
    stored = queries.get_run(context.engine, run.id)
    assert stored is not None
    assert stored.status == "queued"


def document_of_fix() -> dict[str, list[str]]:
    """What `--fix --json` says, without asking TensorFlow."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(doctor.here, "tensorflow", lambda: iter(()))
        report: dict[str, list[str]] = document("doctor", "--fix")
        assert "queued again" in ganboard("doctor", "--fix").stdout or report["mended"]
        return report


def test_a_damaged_database(context: Context, make_run: MakeRun) -> None:
    make_run()
    context.engine.dispose()
    path = context.settings.state / "ganboard.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA journal_mode=DELETE")
    data = bytearray(path.read_bytes())
    data[4096:20000] = os.urandom(20000 - 4096)
    path.write_bytes(data)
    check = found()["database"]
    assert (check.status, "is damaged" in check.text) == ("fail", True)
    assert "ganboard restore" in check.remedy


def test_a_database_that_is_no_database(home: Path) -> None:
    home.mkdir()
    (home / "ganboard.db").write_bytes(b"x" * 9000)
    assert "is damaged" in found()["database"].text


def test_a_disk_that_is_read_only_with_commits_in_the_log(
    context: Context, make_run: MakeRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    with context.engine.connect() as held:  # so that the log is not worked in
        held.exec_driver_sql("SELECT 1 FROM run")
        make_run()
        # root may write anywhere
        monkeypatch.setattr(database.os, "access", lambda path, mode: False)
        check = found()["database"]
    assert check.status == "fail"
    assert "ganboard.db-wal beside it holds commits" in check.text


def test_a_database_behind_the_code(context: Context) -> None:
    with sqlite3.connect(context.settings.state / "ganboard.db") as connection:
        connection.execute("UPDATE alembic_version SET version_num = '0001'")
    connection.close()
    assert "schema 0001, not" in found()["database"].text


def test_clocks_that_differ(context: Context, monkeypatch: pytest.MonkeyPatch) -> None:
    class Later(datetime):
        @classmethod
        def now(cls, tz: object = None) -> datetime:  # type: ignore[override]
            return datetime.now(UTC) + timedelta(seconds=3600)

    assert found()["clock"].status == "ok"
    assert clock.warning(context.engine) is None
    monkeypatch.setattr(clock, "datetime", Later)
    check = found()["clock"]
    assert check.status == "warn"
    assert re.fullmatch(
        r"the database's clock is 3,(599|600)\.\d s behind this machine's", check.text
    )
    assert str(clock.warning(context.engine)).endswith(
        " s behind this machine's: times in pages and logs are wrong. Synchronize both with NTP."
    )


def test_a_home_that_everybody_can_read(context: Context) -> None:
    context.settings.state.chmod(0o755)
    assert "(mode 755)" in found()["home"].text
    assert context.settings.state.stat().st_mode & 0o777 == 0o700
    assert "permissions" not in found()
    context.settings.state.chmod(0o1777)  # as /tmp, which must stay everybody's
    assert "can write" in found()["permissions"].text
    assert "chmod 700" in found()["permissions"].remedy


def test_a_disk_that_is_nearly_full(context: Context, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor.here, "DISK_BYTES", 1e18)
    assert found()["home"].status == "warn"
    monkeypatch.setattr(doctor.here, "DISK_LEAST_BYTES", 1e18)
    assert found()["home"].status == "fail"


def test_a_redis_that_forgets(context: Context, redis: Redis) -> None:
    assert found()["queue"].status == "ok"
    assert not {"queue memory", "queue file"} & set(found())
    redis.config_set("maxmemory-policy", "allkeys-lru")
    redis.config_set("appendonly", "no")
    assert "allkeys-lru" in found()["queue memory"].text
    assert "does not persist to disk" in found()["queue file"].text


def test_a_redis_whose_memory_is_full(context: Context, redis: Redis) -> None:
    redis.config_set("maxmemory", "1")
    check = found()["queue"]
    assert (check.status, "OOM" in check.text) == ("fail", True)
    assert "Raise its maxmemory" in check.remedy


def test_a_redis_whose_disk_is_broken(context: Context, redis: Redis) -> None:
    redis.config_set("save", "1 1")
    try:
        shutil.rmtree(context.settings.state / "redis")
        redis.set("something", "changed")
        redis.bgsave()
        wait_until(
            lambda: redis.info("persistence")["rdb_last_bgsave_status"] == "err",
            seconds=20,
            what="a save that fails",
        )
        check = found()["queue"]
    finally:
        redis.config_set("save", "")  # or it would refuse to end
    assert check.status == "fail"
    assert "MISCONF" in check.text
    assert "Free disk space" in check.remedy


@contextmanager
def locked(path: Path, content: str = "") -> Iterator[None]:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as file:
        file.write(content)
        file.flush()
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def test_supervisors_that_live_hang_or_were_killed(context: Context) -> None:
    lock = context.settings.state / "up.lock"
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{server.getsockname()[1]}"
        with locked(lock, address):
            assert "does not respond" in found()["up"].text
        assert "was killed" in found()["up"].text
        assert "port" not in found()
        server.listen()
        assert "is in use by" in found()["port"].text


def test_worker_slots_that_are_held_without_a_sign_of_life(context: Context) -> None:
    name = f"{socket.gethostname()}-ab12cd34:1"
    with locked(context.settings.state / "workers" / f"{name}.lock"):
        assert "sends no heartbeat" in found()[f"slot {name}"].text
        make_worker(context, name)
        assert f"slot {name}" not in found()
    assert not machine.held(context.settings.state / "workers" / f"{name}.lock")


def test_a_restore_that_was_cut_short(context: Context) -> None:
    (context.settings.state / "restore.json").write_text("{}")
    staging = context.settings.state / "restore-7.tmp"
    staging.mkdir()
    make_old(staging)
    assert "interrupted" in found()["restore"].text
    assert files.remove_leftovers(context.settings) == []
    assert staging.exists()
