"""Bad input and broken environments: one sentence on stderr, exit code 1, nothing stored."""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest

from ganboard.db import migrate
from ganboard.db.models import Run
from ganboard.db.runs import commands, queries
from ganboard.gan.models.dcgan.config import Config
from ganboard.worker.context import Context
from tests.cli import ganboard, refused

MakeRun = Callable[..., Run]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--preset", "nope"], "'nope' does not exist"),
        (["--preset", ""], "does not exist"),
        (["--set", "batchsize=64"], "'batchsize' is not a setting"),
        (["--set", "batch_size"], "not of the form key=value"),
        (["--set", "=3"], "not of the form key=value"),
        (["--set", "batch_size=0"], "at least 1"),
        (["--set", "batch_size=-1"], "at least 1"),
        (["--set", "batch_size=3.5"], "a whole number"),
        (["--set", "batch_size=many"], "a whole number"),
        (["--set", "batch_size=1e400"], "batch_size"),
        (["--set", "batch_size=63", "--set", "replicas=2"], "does not divide"),
        (["--preset", "tiny", "--set", "batch_size=256"], "larger than limit=128"),
        (
            ["--set", "dataset=digits", "--set", "batch_size=4096"],
            "larger than the data set (1797 images",
        ),
        (["--set", "g_learning_rate=nan"], "a finite number"),
        (["--set", "g_learning_rate=inf"], "a finite number"),
        (["--set", "g_learning_rate=0"], "more than 0"),
        (["--set", "precision=float8"], "one of"),
        (["--set", "xla=perhaps"], "true or false"),
        (["--set", "dataset=images"], "needs images_path"),
        (["--set", "dataset=images", "--set", "images_path=../../etc"], "images_path"),
        (["--preset", "tiny", "--name", ""], "The name is empty"),
        (["--preset", "tiny", "--name", "n" * 10_000], "10000 characters"),
        (["--preset", "tiny", "--name", "abc\u202edef"], "U+202E"),
        (["--preset", "tiny", "--name", "a\x1b[31mb"], "U+001B"),
        (["--preset", "tiny", "--name", "a\udcff"], "U+DCFF"),
        (["--set", "precision=" + "x" * 10_000], "x..."),
        (["--set", "x" * 10_000], "not of the form"),
        (["--set", "\x1b[31mred=1"], "is not a setting"),
    ],
)
def test_bad_settings_are_refused_in_one_sentence(
    home: Path, arguments: list[str], words: str
) -> None:
    line = refused("run", *arguments)
    assert words in line
    assert len(line) < 1100
    assert "\x1b" not in line


@pytest.mark.parametrize(
    "arguments",
    [["--preset", "nope"], ["--set", "batch_size=0"], ["--preset", "tiny", "--name", ""]],
)
def test_train_refuses_as_run_does(home: Path, arguments: list[str]) -> None:
    assert refused("train", *arguments) == refused("run", *arguments)


@pytest.mark.parametrize(
    "run_id", ["nope", "", "%", "latest", "\udcff", "x" * 10_000, "'; DROP TABLE run; --"]
)
def test_unknown_runs(context: Context, run_id: str) -> None:
    assert "There is no run" in refused("show", run_id)


@pytest.mark.parametrize("command", ["stop", "resume", "clone", "delete"])
def test_every_command_refuses_an_unknown_run(context: Context, command: str) -> None:
    assert "There is no run" in refused(command, "nope")


def test_an_id_that_several_runs_share(make_run: MakeRun, context: Context) -> None:
    for _ in range(40):
        commands.create_run(context.engine, name="x", config=Config().model_dump())
    first = sorted(run.id[0] for run in queries.list_runs(context.engine))
    twice = next(a for a, b in pairwise(first) if a == b)
    assert "Enter more characters" in refused("show", twice)


def test_an_unknown_status(home: Path) -> None:
    assert "'done' is not a state" in ganboard("runs", "--status", "done", code=2).stderr


@pytest.mark.parametrize(
    "arguments", [["--port", "0"], ["--port", "70000"], ["--workers", "-1"], ["--port", "http"]]
)
def test_up_refuses_impossible_numbers(home: Path, arguments: list[str]) -> None:
    assert "Invalid value" in ganboard("up", *arguments, code=2).stderr
    assert not home.exists()


def test_an_unknown_option_is_one_readable_block(home: Path) -> None:
    assert "No such option: --sett" in ganboard("run", "--sett", "x", code=2).stderr


def test_a_home_that_cannot_be_written(
    tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("GANBOARD_HOME", str(tmp_path / "file" / "home"))
    assert "Set GANBOARD_HOME" in refused("run", "--preset", "tiny")


def test_a_database_from_the_future(context: Context) -> None:
    context.engine.dispose()
    with sqlite3.connect(context.settings.state / "ganboard.db") as connection:
        connection.execute("UPDATE alembic_version SET version_num = '9999'")
    connection.close()
    line = refused("runs")
    assert "schema 9999" in line
    assert "Update ganboard" in line
    assert "schema 9999" in refused("db", "upgrade")


def test_a_file_that_is_no_database(home: Path) -> None:
    home.mkdir(mode=0o700)
    (home / "ganboard.db").write_bytes(b"not a database " * 400)
    assert "not a database" in refused("runs")


def test_an_unreachable_database(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GANBOARD_DATABASE_URL", "postgresql://someone:geheim@127.0.0.1:9/ganboard")
    began = time.monotonic()
    line = refused("run", "--preset", "tiny")
    assert time.monotonic() - began < 6
    assert "Check GANBOARD_DATABASE_URL" in line
    assert "geheim" not in line


def test_an_unreachable_queue_loses_nothing(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GANBOARD_REDIS_URL", "redis://:geheim@127.0.0.1:9/0")
    result = ganboard("run", "--preset", "tiny", "--json")
    assert "check GANBOARD_REDIS_URL" in result.stderr
    assert "is stored" in result.stderr
    assert "geheim" not in result.output
    assert json.loads(result.stdout)["status"] == "queued"


@pytest.mark.parametrize("url", ["nonsense", "mysql://db/x", "sqlite:////nowhere/at/all.db"])
def test_a_database_url_that_is_none(home: Path, monkeypatch: pytest.MonkeyPatch, url: str) -> None:
    monkeypatch.setenv("GANBOARD_DATABASE_URL", url)
    assert "GANBOARD_DATABASE_URL" in refused("runs")


def test_db_upgrade_names_the_schema(home: Path) -> None:
    assert migrate.head() in ganboard("db", "upgrade").stdout
