"""Logs in both forms, as a process of its own writes them, and a log file that stays below its
limit without losing a line."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from ganboard.app.run.log.file import tail
from ganboard.db.settings import Settings, SettingsError
from ganboard.worker import logs
from tests.cli import refused

TALK = """
import logging, sys, warnings
from ganboard.worker import logs
logs.configure()
logs.bind(run="abc", attempt=2)
logging.getLogger("rq.worker").warning("Redis is %s", "away")
logging.getLogger("ganboard.worker").info("é 漢字")
logging.getLogger("alembic").info("never seen")
try:
    1 / 0
except ZeroDivisionError:
    logging.exception("It broke")
"""


def said(code: str, **variables: str) -> str:
    ran = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        env={**os.environ, **variables},
    )
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


def test_one_json_object_per_line(home: Path) -> None:
    lines = [json.loads(line) for line in said(TALK, GANBOARD_LOG_FORMAT="json").splitlines()]
    assert [list(line)[:4] for line in lines] == [["time", "level", "logger", "event"]] * 3
    assert [(line["level"], line["logger"], line["event"]) for line in lines] == [
        ("warning", "rq.worker", "Redis is away"),
        ("info", "ganboard.worker", "é 漢字"),
        ("error", "root", "It broke"),
    ]
    assert all((line["run"], line["attempt"]) == ("abc", 2) for line in lines)
    assert all(line["time"].endswith(("Z", "+00:00")) for line in lines)
    assert "ZeroDivisionError" in lines[2]["exception"]


def test_text_is_the_default(home: Path) -> None:
    lines = said(TALK).splitlines()
    assert lines[0].endswith("Redis is away")
    assert not lines[0].startswith("{")
    assert "Traceback" in "\n".join(lines)
    assert "never seen" not in "\n".join(lines)


def test_streamlit_and_uvicorn_say_it_the_same_way(home: Path) -> None:
    code = """
from ganboard.app.web import logs
logs.configure()
from streamlit.logger import get_logger, init_uvicorn_logs
init_uvicorn_logs()
for name in ("uvicorn.error", "streamlit.web.server"):
    get_logger(name).warning("here I am")
"""
    lines = [json.loads(line) for line in said(code, GANBOARD_LOG_FORMAT="json").splitlines()]
    assert [(line["logger"], line["event"]) for line in lines] == [
        ("uvicorn.error", "here I am"),
        ("streamlit.web.server", "here I am"),
    ]


def test_another_format_is_refused_in_a_sentence(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GANBOARD_LOG_FORMAT", "xml")
    assert "GANBOARD_LOG_FORMAT=xml is neither text nor json" in refused("runs")
    with pytest.raises(SettingsError):
        Settings().prepare_home()


def test_a_full_log_file_is_changed_for_a_new_one_and_no_line_is_lost(
    home: Path, tmp_path: Path
) -> None:
    log = tmp_path / "worker-1.log"
    code = """
import logging, os, subprocess
from ganboard.worker import logs
logs.MAX_BYTES, logs.KEPT = 2000, 99
logs.configure(text="%(message)s")
child = os.fork()  # a work-horse writes into the same file
for number in range(300):
    logging.info("%s %03d %s", "horse" if child == 0 else "worker", number, "x" * 20)
    os.write(2, b"C library %03d %d\\n" % (number, child == 0))
if child:
    os.wait()
"""
    with log.open("ab") as output:
        subprocess.run(
            [sys.executable, "-c", code],
            stdout=output,
            stderr=output,
            env={**os.environ, logs.FILE: str(log)},
            check=True,
        )
    files = sorted(
        tmp_path.glob("worker-1.log*"),
        key=lambda file: -int(file.suffix[1:]) if file.suffix != ".log" else 0,
    )
    assert len(files) > 5
    assert all(file.stat().st_size < 2300 for file in files)
    lines = "".join(file.read_text() for file in files).splitlines()
    for who in ("horse", "worker"):
        assert [int(line.split()[1]) for line in lines if line.startswith(who)] == list(range(300))
    assert sorted(line for line in lines if line.startswith("C")) == sorted(
        f"C library {n:03d} {w}" for n in range(300) for w in (0, 1)
    )


def test_the_oldest_full_files_are_forgotten(tmp_path: Path) -> None:
    log = tmp_path / "web.log"
    for number in range(6):
        log.write_text(str(number))
        logs.rotate(log)
    assert {file.name: file.read_text() for file in tmp_path.iterdir()} == {
        "web.log.1": "5",
        "web.log.2": "4",
        "web.log.3": "3",
    }


def test_who_writes_elsewhere_leaves_the_file_alone(home: Path, tmp_path: Path) -> None:
    log = tmp_path / "worker-1.log"
    log.write_text("x" * 100)
    said(
        "from ganboard.worker import logs; logs.MAX_BYTES = 10; logs.configure(); import logging;"
        " logging.info('hello')",
        **{logs.FILE: str(log)},
    )
    assert [file.name for file in tmp_path.glob("worker*")] == ["worker-1.log"]


def test_a_run_page_shows_objects_as_lines(tmp_path: Path) -> None:
    log = tmp_path / "train.log"
    entry = {
        "time": "2026-02-28T23:59:59.123456Z",
        "level": "warning",
        "logger": "root",
        "event": "Slow.",
    }
    log.write_text(
        f"plain\n{json.dumps(entry)}\n{json.dumps({**entry, 'exception': 'Traceback'})}\n{{half an"
        " obj\n{}\n"
    )
    found = tail(log)
    assert found is not None
    assert "\n".join(found.lines) == (
        "plain\n2026-02-28 23:59:59 WARNING Slow.\n2026-02-28 23:59:59 WARNING"
        " Slow.\nTraceback\n{half an obj\n{}"
    )
