"""worker.artifacts.uploader: the check before a worker starts, and the process."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from ganboard.db.settings import Settings, SettingsError
from ganboard.worker.artifacts import uploader
from ganboard.worker.artifacts.store import StoreError
from ganboard.worker.context import Context
from ganboard.worker.doctor.artifacts import artifact_store
from ganboard.worker.process import machine
from ganboard.worker.process.parent_death import environment_for_child
from tests.polling import wait_until
from tests.stores import S3
from tests.up import free_port


@pytest.fixture
def settings(context: Context, url: str, monkeypatch: pytest.MonkeyPatch) -> Settings:
    """Of an installation with a store."""
    monkeypatch.setenv("GANBOARD_HOME", str(context.settings.state))
    monkeypatch.setenv("GANBOARD_STORE", url)
    return Settings()


def test_a_store_that_can_be_used_is_well(settings: Settings) -> None:
    assert uploader.check(settings) is None
    [check] = artifact_store(settings)
    assert (check.status, check.text) == ("ok", f"{settings.store} can be used")
    assert list(artifact_store(Settings(home=settings.home, store=""))) == []


def test_one_that_does_not_answer_is_a_warning(
    context: Context, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in {
        **S3,
        "AWS_ENDPOINT_URL": f"http://127.0.0.1:{free_port()}",
        "AWS_MAX_ATTEMPTS": "1",
        "GANBOARD_HOME": str(context.settings.state),
        "GANBOARD_STORE": "s3://bucket/ganboard",
    }.items():
        monkeypatch.setenv(name, value)
    [check] = artifact_store(Settings())
    assert check.status == "warn"
    assert "s3://bucket/ganboard does not answer" in check.text


def test_one_that_cannot_is_refused_before_a_worker_starts(
    context: Context, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("GANBOARD_HOME", str(context.settings.state))
    monkeypatch.setenv("GANBOARD_STORE", "s3:/mistyped")
    with pytest.raises(SettingsError, match="GANBOARD_STORE is not a store such as"):
        uploader.check(Settings())
    monkeypatch.setenv("GANBOARD_STORE", "gs://bucket/x")
    with pytest.raises(StoreError, match="needs the package gcsfs, which is not installed"):
        uploader.check(Settings())
    [check] = artifact_store(Settings())
    assert check.status == "fail"
    ran = subprocess.run(
        [sys.executable, "-m", "ganboard.worker.queue.rq_worker"],
        capture_output=True,
        text=True,
        timeout=60,
        env=environment_for_child(),
    )
    assert ran.returncode == 1
    assert ran.stderr.startswith("ganboard: GANBOARD_STORE=gs://bucket/x needs the package gcsfs")
    assert "Traceback" not in ran.stderr


def test_one_process_serves_all_workers_of_a_home(context: Context, settings: Settings) -> None:
    here = Context(settings, context.engine)
    first, second = uploader.Uploader(here), uploader.Uploader(here)
    first.ensure()
    assert first._process is not None
    try:
        wait_until(
            lambda: machine.held(uploader.lock(here)), seconds=30, what="the uploader's lock"
        )
        second.ensure()
        assert second._process is None
        first._process.kill()
        first._process.wait()
        second.ensure()
        assert second._process is not None
    finally:
        for one in (first, second):
            if one._process is not None:
                one._process.kill()
                one._process.wait()
