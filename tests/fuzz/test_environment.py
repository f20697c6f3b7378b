"""The environment as it may be found: every variable is understood or refused in a sentence, and no
command shows a traceback."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import strategies as st

from ganboard.db.engine import make_engine
from ganboard.db.errors import DbError
from ganboard.db.models import Run
from ganboard.db.settings import Settings, SettingsError
from ganboard.worker.clear_errors import CLEAR_ERRORS
from ganboard.worker.context import Context, connect
from tests.cli import refused
from tests.fuzz.cases import EXAMPLES, count, fuzzed, refusal

MakeRun = Callable[..., Run]
PROGRAM = [
    sys.executable,
    "-c",
    "from ganboard.worker.cli.main import app; app(prog_name='ganboard')",
]
VALUES = (
    "", " ", "\t", ".", "/", "~", "~nobody-of-this-name", "~/x", "x", "../..", "/dev/null",
    "/dev/full", "/proc/1/x", "a" * 300, "/" + "b/" * 1000, "http://localhost:6379", "https://h",
    "redis://", "redis://h:0", "redis://h:99999", "redis://h:x", "redis://:p@h", "unix://",
    "unix:///x", "rediss://h", "redis://[::1", "redis://h/x", "sqlite://", "sqlite:///",
    "sqlite:////", "sqlite:////dev/null", "sqlite:////proc/x", "sqlite:///:memory:",
    "sqlite:////x?mode=ro", "mysql://h/d", "postgresql://", "postgresql://u:p@",
    "postgresql://u:p%zz@127.0.0.1:1/d", "postgres://h/d", "postgresql://u@127.0.0.1:1/d",
    "postgresql+asyncpg://h/d", "file:///etc/passwd", "://", ":", "@", "%", "\N{SNOWMAN}", "\udcff",
    "\n", "$(id)", "null",
)  # fmt: skip
NAMES = ("HOME", "DATABASE_URL", "DATABASE_PASSWORD", "REDIS_URL", "REDIS_PASSWORD", "DATA_DIR")
GIVEN = st.dictionaries(
    st.sampled_from([*NAMES, *(f"{name}_FILE" for name in NAMES), "X", "home", "WORKER_NAME"]),
    st.sampled_from(VALUES)
    | st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=20),
    max_size=3,
)


def use(settings: Settings) -> None:
    """What every command does with its settings, but for writing."""
    for path in (settings.state, settings.data, settings.run_dir("abc"), settings.log_path("abc")):
        assert path.is_absolute()
    make_engine(settings.database).dispose()


@fuzzed(15, given=GIVEN)
def test_variables_are_understood_or_refused(tmp_path: Path, given: dict[str, str]) -> None:
    with pytest.MonkeyPatch.context() as patched:
        for name in [name for name in os.environ if name.startswith("GANBOARD_")]:
            patched.delenv(name)
        patched.chdir(tmp_path)
        for name, value in given.items():
            patched.setenv(f"GANBOARD_{name}", value)
        found: list[Settings] = []
        if refusal(SettingsError, lambda: found.append(Settings())) is None:
            refusal((SettingsError, DbError), use, found[0])


@fuzzed(
    1,
    url=st.sampled_from(
        [
            value
            for value in VALUES
            if "//" in value and value != "redis://" and "h" not in value.split("//")[1][:2]
        ]
    ),
)
def test_any_address_of_redis_is_refused_in_a_sentence(home: Path, url: str) -> None:
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("GANBOARD_REDIS_URL", url)
        assert refusal(CLEAR_ERRORS, lambda: connect(Settings()))


def ganboard(
    *arguments: str, umask: int = -1, **variables: str | None
) -> subprocess.CompletedProcess[str]:
    """A command in a process of its own; None removes a variable."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("GANBOARD_") and name not in variables
    }
    environment = {
        **kept,
        **{name: value for name, value in variables.items() if value is not None},
    }
    count("environment")
    return subprocess.run(
        [*PROGRAM, *arguments],
        env=environment,
        capture_output=True,
        text=True,
        umask=umask,
        timeout=120,
        check=False,
    )


def test_homes_that_cannot_be_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file, circle = tmp_path / "file", tmp_path / "circle"
    file.write_text("x")
    circle.symlink_to(circle)
    for place in (file, file / "below", circle, Path("/proc/ganboard"), Path("/dev/null")):
        monkeypatch.setenv("GANBOARD_HOME", str(place))
        assert "GANBOARD_HOME" in refused("runs")
        count("environment")


def test_databases_that_cannot_be_used(
    tmp_path: Path, context: Context, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, text, damaged = tmp_path / "folder", tmp_path / "text", tmp_path / "damaged.db"
    folder.mkdir()
    text.write_text("no database" * 100)
    context.engine.dispose()
    data = bytearray((context.settings.state / "ganboard.db").read_bytes())
    data[100:4096] = os.urandom(3996)
    damaged.write_bytes(data)
    for place in (folder, text, damaged, tmp_path / "none" / "x.db", Path("/dev/full")):
        monkeypatch.setenv("GANBOARD_DATABASE_URL", f"sqlite:///{place}")
        assert "database" in refused("runs")
        count("environment")


@pytest.mark.skipif(os.getuid() == 0, reason="the superuser writes everywhere")
def test_a_database_that_may_not_be_written(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "x.db"
    path.touch(stat.S_IRUSR)
    monkeypatch.setenv("GANBOARD_DATABASE_URL", f"sqlite:///{path}")
    assert refused("runs")


SURROUNDINGS: list[tuple[dict[str, Any], int]] = [
    (
        {
            "HOME": None,
            "PATH": "/nonexistent",
            "TZ": ":/etc/passwd",
            "COLUMNS": "x",
            "LINES": "-1",
            "TERM": "nonsense",
        },
        0o077,
    ),
    ({"LC_ALL": "C", "LANG": None, "PYTHONUTF8": "0", "PYTHONIOENCODING": "ascii"}, 0o000),
    ({"LC_ALL": "xx_YY.nonsense", "TZ": "Mars/Olympus"}, -1),
    ({"TZ": "UTC+99:99", "NO_COLOR": "", "FORCE_COLOR": "1", "COLUMNS": "1"}, -1),
    ({"TMPDIR": "/nonexistent", "XDG_CONFIG_HOME": "/dev/null"}, 0o777),
]


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("variables", "umask"),
    SURROUNDINGS[: None if EXAMPLES else 2],
    ids=lambda given: str(given)[:30],
)
def test_odd_surroundings(
    context: Context, make_run: MakeRun, variables: dict[str, Any], umask: int
) -> None:
    run = make_run("Grüße 漢字 \N{SNOWMAN}", epochs=1)
    home = str(context.settings.state)
    for command in (["show", run.id], ["runs"], ["show", run.id, "--json"])[: 3 if EXAMPLES else 1]:
        done = ganboard(*command, umask=umask, GANBOARD_HOME=home, **variables)
        assert "Traceback" not in done.stderr
        assert done.returncode == 0, done.stderr
    assert not Path(home, "ganboard.db").stat().st_mode & stat.S_IXUSR


WORDS = (
    "runs", "show", "run", "--json", "--set", "--name", "-", "--", "--help", "x=y", "\udcff",
    "--limit", "0", "-1", "tag", "note", "sweep", "study", "import", "export", "latest", "clone",
    "delete", "--yes", "stop", "resume", "archive", "published", "db", "upgrade",
)  # fmt: skip


@fuzzed(3, words=st.lists(st.sampled_from(WORDS), max_size=4))
def test_any_words_on_the_command_line(home: Path, words: list[str]) -> None:
    from typer.testing import CliRunner

    from ganboard.worker.cli.main import app

    result = CliRunner().invoke(app, words, catch_exceptions=False)
    assert "Traceback" not in result.output
    assert result.exit_code in (0, 1, 2)
