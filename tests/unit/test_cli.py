"""The command line as people and scripts meet it: real SQLite, no Redis, no TensorFlow."""

from __future__ import annotations

import json
import os
import pty
import select
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.main import get_command
from typer.testing import CliRunner, Result

from db import commands, queries
from db.models import Run
from gan import presets
from gan.config import RunConfig
from tests.factories import HARDWARE, HOSTILE_NAMES, make_worker
from tests.polling import wait_until
from worker.cli import app
from worker.context import Context

MakeRun = Callable[..., Run]
# the program on standard input's terminal, which becomes its own, so that a typed Ctrl-C reaches it
PROGRAM = [
    sys.executable,
    "-c",
    "import fcntl, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0); from worker.cli import app; app(prog_name='ganboard')",
]

COMMAND_LINE = {
    "up": ["--port", "--workers", "--no-starter"],
    "run": ["--preset", "--set", "--name", "--follow", "--settings", "--json"],
    "train": ["--preset", "--set", "--name", "--follow", "--settings", "--json"],
    "runs": ["--status", "--search", "--limit", "--json"],
    "show": ["RUN", "--json"],
    "stop": ["RUN", "--json"],
    "resume": ["RUN", "--json"],
    "clone": ["RUN", "--set", "--name", "--json"],
    "delete": ["RUN", "--yes", "-y", "--json"],
    "export": ["RUN", "DIR", "--json"],
    "worker": [],
    "doctor": ["--json"],
    "db upgrade": [],
}


def ganboard(*arguments: str, code: int = 0) -> Result:
    """Run one command in this process; a traceback is a failure of the test."""
    result = CliRunner().invoke(app, arguments, catch_exceptions=False)
    assert result.exit_code == code, result.output
    return result


def document(*arguments: str, code: int = 0) -> Any:
    """The one JSON document on stdout; refuses NaN and Infinity, which are not JSON."""

    def refuse(constant: str) -> None:
        raise AssertionError(f"{constant} is not JSON")

    return json.loads(ganboard(*arguments, "--json", code=code).stdout, parse_constant=refuse)


def refused(*arguments: str) -> str:
    """The one line on stderr of a command that fails."""
    result = ganboard(*arguments, code=1)
    assert result.stdout == ""
    assert result.stderr.startswith("ganboard: ")
    assert result.stderr.count("\n") == 1
    assert "Traceback" not in result.stderr
    return result.stderr


def leaf_commands() -> dict[str, Any]:
    root = get_command(app)
    found = {}
    for name, command in root.commands.items():  # type: ignore[attr-defined]
        below = getattr(command, "commands", None)
        found |= {f"{name} {inner}": each for inner, each in below.items()} if below else {name: command}
    return found


# --- the contract -------------------------------------------------------------------------------------------------


def test_the_command_line_is_frozen() -> None:
    found = {
        name: [word for param in command.params for word in ([param.metavar] if param.param_type_name == "argument" else param.opts)]
        for name, command in leaf_commands().items()
    }
    assert found == COMMAND_LINE


@pytest.mark.parametrize("name", COMMAND_LINE)
def test_help_explains_itself_with_an_example(name: str) -> None:
    text = ganboard(*name.split(), "--help").stdout
    assert "Example" in text
    assert f"ganboard {name}" in text


def test_help_loads_nothing_heavy() -> None:
    script = """
import sys
from worker.cli import app
for words in ([], *[name.split() for name in sys.argv[1:]]):
    try:
        app([*words, "--help"])
    except SystemExit as ended:
        assert not ended.code, words
heavy = {"tensorflow", "keras", "streamlit", "pandas", "sklearn", "numpy", "sqlalchemy", "redis", "rq", "alembic"}
sys.exit(f"loaded: {sorted(heavy & set(sys.modules))}" if heavy & set(sys.modules) else 0)
"""
    ran = subprocess.run([sys.executable, "-c", script, *COMMAND_LINE], capture_output=True, text=True, timeout=30)
    assert ran.returncode == 0, ran.stderr


def test_reading_and_submitting_runs_loads_no_tensorflow(home: Path) -> None:
    script = """
import sys
from worker.cli import app
for words in (["run", "--preset", "tiny"], ["runs"], ["show", "latest"], ["stop", "latest"], ["delete", "latest", "--yes"]):
    try:
        app(words)
    except SystemExit as ended:
        assert not ended.code, words
heavy = {"tensorflow", "keras", "streamlit", "pandas", "sklearn"} & set(sys.modules)
sys.exit(f"loaded: {sorted(heavy)}" if heavy else 0)
"""
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=30)
    assert ran.returncode == 0, ran.stderr


def test_the_help_of_preset_names_every_preset() -> None:
    text = next(param.help for param in leaf_commands()["run"].params if "--preset" in param.opts)
    assert all(name in text for name in presets.NAMES)


def test_settings_are_listed_with_default_range_and_reason(home: Path) -> None:
    text = ganboard("run", "--settings").stdout
    listed = document("run", "--settings")
    by_name = {setting["name"]: setting for setting in listed["settings"]}
    assert set(by_name) == set(RunConfig.model_fields)
    assert by_name["batch_size"]["allowed"] == "from 1 to 65,536"
    assert by_name["batch_size"]["default"] == 64
    assert by_name["g_learning_rate"]["allowed"] == "more than 0 to 10"
    assert by_name["limit"]["allowed"] == "from 1 to 10,000,000 or none"
    assert by_name["precision"]["allowed"] == "float32 | mixed_bfloat16 | mixed_float16"
    assert by_name["xla"]["allowed"] == "true | false"
    assert all(name in text for name in by_name)
    assert [preset["name"] for preset in listed["presets"]] == list(presets.NAMES)
    assert not home.exists()  # looking does not begin a state directory


# --- run, runs, show ----------------------------------------------------------------------------------------------


def test_run_stores_and_says_what_it_waits_for(home: Path) -> None:
    said = ganboard("run", "--preset", "tiny", "--set", "epochs=7", "--name", "first look").stdout
    shown = document("show", "latest")
    assert shown["id"] in said
    assert "No worker is alive" in said
    assert "ganboard up" in said
    assert (shown["name"], shown["status"], shown["preset"]) == ("first look", "queued", "tiny")
    assert shown["config"]["epochs"] == 7
    assert shown["config"]["limit"] == presets.values("tiny")["limit"]


def test_run_prints_the_document_of_show(home: Path) -> None:
    submitted = document("run", "--preset", "tiny")
    assert submitted == document("show", submitted["id"])
    assert set(submitted) >= {"id", "name", "status", "config", "hardware", "epochs", "error", "attempt"}


def test_show_json_has_exact_losses(make_run: MakeRun, context: Context) -> None:
    run = make_run(epochs=3)
    shown = document("show", run.id)
    stored = queries.epochs(context.engine, run.id)
    assert [(e["epoch"], e["g_loss"], e["g_loss_hex"], e["d_loss_hex"]) for e in shown["epochs"]] == [
        (e.epoch, e.g_loss, e.g_loss.hex(), e.d_loss.hex()) for e in stored
    ]
    assert [e["images_per_second"] for e in shown["epochs"]] == [e.images / e.seconds for e in stored]
    assert shown["hardware"] == HARDWARE


def test_losses_that_are_not_finite_are_null_and_named(context: Context) -> None:
    run = _claimed(context, epochs=2)
    for epoch, g, d in ((1, float("nan"), float("inf")), (2, float("-inf"), 0.0)):
        _finish_epoch(context, run, epoch, g, d)
    shown = document("show", run.id)["epochs"]
    assert [(e["g_loss"], e["g_loss_hex"], e["d_loss"], e["d_loss_hex"]) for e in shown] == [
        (None, "nan", None, "inf"),
        (None, "-inf", 0.0, "0x0.0p+0"),
    ]
    assert "nan" in ganboard("show", run.id).stdout


def test_show_for_people(make_run: MakeRun, context: Context) -> None:
    run = make_run(name="a good run", epochs=12, precision="mixed_bfloat16")
    text = ganboard("show", run.id).stdout
    for part in (run.id, "a good run", "finished", 'precision="mixed_bfloat16"', "Test CPU", str(context.settings.log_path(run.id))):
        assert part in text
    assert "newest 10 of 12 epochs" in text


def test_show_a_failed_run_says_why(make_run: MakeRun) -> None:
    run = make_run(status="failed", error="The disk is full: free some space.")
    assert "The disk is full" in ganboard("show", run.id).stdout
    assert document("show", run.id)["error"] == "The disk is full: free some space."


@pytest.mark.parametrize("name", HOSTILE_NAMES)
def test_names_are_shown_as_they_are(make_run: MakeRun, name: str) -> None:
    run = make_run(name=name, epochs=1)
    assert name in ganboard("runs").stdout
    assert name in ganboard("show", run.id).stdout
    assert document("show", run.id)["name"] == name


def test_control_codes_from_the_database_do_not_reach_the_terminal(make_run: MakeRun) -> None:
    run = make_run(name="x\x1b[2Jy\u202ez", status="failed", error="\x1b]0;title\x07 gone")
    for text in (ganboard("runs").stdout, ganboard("show", run.id).stdout):
        assert "\x1b" not in text
        assert "\u202e" not in text
        assert "\x07" not in text


def test_runs_filters(make_run: MakeRun) -> None:
    old, failed, new = make_run(name="alpha"), make_run(name="beta", status="failed"), make_run(name="Alpha two", status="queued")
    assert [run["id"] for run in document("runs")] == [new.id, failed.id, old.id]
    assert [run["id"] for run in document("runs", "--status", "failed", "--status", "queued")] == [new.id, failed.id]
    assert [run["id"] for run in document("runs", "--search", "alpha")] == [new.id, old.id]
    assert [run["id"] for run in document("runs", "--limit", "1")] == [new.id]
    assert "1 of 3 runs" in ganboard("runs", "--limit", "1").stdout
    assert "epochs" not in document("runs")[0]


def test_runs_of_an_empty_database(home: Path) -> None:
    assert "ganboard run --preset starter" in ganboard("runs").stdout
    assert document("runs") == []


# --- stop, resume, clone, delete ----------------------------------------------------------------------------------


def test_stop_and_resume(home: Path) -> None:
    run_id = document("run", "--preset", "tiny")["id"]
    assert document("stop", run_id[:6])["status"] == "stopped"
    assert "nothing to stop" in refused("stop", run_id)
    assert "queued again" in ganboard("resume", run_id).stdout
    assert "goes on by itself" in refused("resume", run_id)


def test_stop_a_run_that_trains(make_run: MakeRun, context: Context) -> None:
    run = make_run(status="running")
    assert "stops after the step it is in" in ganboard("stop", run.id).stdout
    stored = queries.get_run(context.engine, run.id)
    assert stored is not None
    assert stored.stop_requested_at is not None


def test_clone_changes_what_it_is_told_to(make_run: MakeRun) -> None:
    run = make_run(name="w" * 80)
    cloned = document("clone", run.id, "--set", "seed=5")
    assert cloned["config"] == {**run.config, "seed": 5}
    assert cloned["parent_id"] == run.id
    assert cloned["name"].endswith(" (clone)")
    assert document("clone", run.id, "--name", "other")["name"] == "other"


def test_delete_needs_yes_without_a_terminal(make_run: MakeRun, context: Context) -> None:
    run = make_run()
    assert "--yes" in refused("delete", run.id)
    context.settings.run_dir(run.id).mkdir(parents=True)
    assert document("delete", run.id, "--yes") == {"id": run.id, "name": run.name, "deleted": True}
    assert not context.settings.run_dir(run.id).exists()
    assert "There is no run" in refused("show", run.id)


def test_delete_refuses_a_run_that_trains(make_run: MakeRun) -> None:
    assert "stop it first" in refused("delete", make_run(status="running").id, "--yes")


@pytest.mark.parametrize(("typed", "code", "deleted"), [(b"y\n", 0, True), (b"n\n", 1, False), (b"\x03", 130, False)])
def test_delete_asks_on_a_terminal(make_run: MakeRun, context: Context, typed: bytes, code: int, deleted: bool) -> None:
    run = make_run()
    output, exit_code = _on_a_terminal(["delete", run.id], after="[y/N]", typed=typed)
    assert exit_code == code, output
    assert (queries.get_run(context.engine, run.id) is None) == deleted


# --- follow -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("outcome", "code"), [("finished", 0), ("failed", 1), ("stopped", 3)])
def test_follow_prints_a_line_per_epoch_and_exits_by_the_outcome(context: Context, outcome: str, code: int) -> None:
    with _Trainer(context, outcome):
        result = ganboard("run", "--preset", "tiny", "--follow", code=code)
    lines = [line for line in result.stdout.splitlines() if line.startswith("epoch ")]
    assert lines[0] == "epoch 1/2: G 0.5000, D 0.2500, 2.00 s, 64 images/s, 2.0 s left"
    assert lines[1] == "epoch 2/2: G 0.5000, D 0.1250, 2.00 s, 64 images/s, 0.0 s left"
    assert len(lines) == 2
    assert ("failed: It broke." in result.stderr) == (outcome == "failed")


@pytest.mark.parametrize(("outcome", "code"), [("finished", 0), ("failed", 1)])
def test_follow_json_prints_the_final_document_alone(context: Context, outcome: str, code: int) -> None:
    with _Trainer(context, outcome):
        final = document("run", "--preset", "tiny", "--follow", code=code)
    assert final["status"] == outcome
    assert [epoch["epoch"] for epoch in final["epochs"]] == [1, 2]


def test_follow_on_a_terminal_draws_rows_and_a_bar(context: Context) -> None:
    with _Trainer(context, "finished"):
        output, code = _on_a_terminal(["run", "--preset", "tiny", "--follow"])
    assert code == 0, output
    assert "time left" in output
    assert "step 8/8" in output
    assert "finished after epoch 2" in output


def test_ctrl_c_leaves_the_run_alone(context: Context) -> None:
    output, code = _on_a_terminal(["run", "--preset", "tiny", "--follow"], after="No worker is alive", typed=b"\x03")
    assert code == 130
    assert "it goes on" in output
    assert "Traceback" not in output
    assert queries.list_runs(context.engine)[0].status == "queued"


def test_follow_says_when_the_run_is_deleted(context: Context) -> None:
    def delete() -> None:
        wait_until(lambda: queries.count_runs(context.engine), seconds=10, what="the run")
        commands.delete_run(context.engine, run_id=queries.list_runs(context.engine)[0].id)

    thread = threading.Thread(target=delete)
    thread.start()
    result = ganboard("run", "--preset", "tiny", "--follow", code=1)
    thread.join()
    assert "was deleted" in result.stderr


def test_waiting_names_the_runs_ahead(context: Context) -> None:
    make_worker(context)
    document("run", "--preset", "tiny")
    assert "waits for 1 earlier run." in ganboard("run", "--preset", "tiny").stdout


# --- bad input ----------------------------------------------------------------------------------------------------


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
        (["--set", "dataset=digits", "--set", "batch_size=4096"], "larger than the data set (1797 images"),
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
@pytest.mark.parametrize("command", ["run", "train"])
def test_bad_settings_are_refused_in_one_sentence(home: Path, command: str, arguments: list[str], words: str) -> None:
    line = refused(command, *arguments)
    assert words in line
    assert len(line) < 1100
    assert "\x1b" not in line


@pytest.mark.parametrize("command", ["show", "stop", "resume", "clone", "delete"])
@pytest.mark.parametrize("run_id", ["nope", "", "%", "latest", "\udcff", "x" * 10_000, "'; DROP TABLE run; --"])
def test_unknown_runs(home: Path, command: str, run_id: str) -> None:
    assert "There is no run" in refused(command, run_id)


def test_an_id_that_several_runs_share(make_run: MakeRun, context: Context) -> None:
    for _ in range(40):
        commands.create_run(context.engine, name="x", config=RunConfig().model_dump())
    first = sorted(run.id[0] for run in queries.list_runs(context.engine))
    twice = next(a for a, b in pairwise(first) if a == b)
    assert "type more of it" in refused("show", twice)


def test_an_unknown_status(home: Path) -> None:
    assert "'done' is not a state" in ganboard("runs", "--status", "done", code=2).stderr


@pytest.mark.parametrize("arguments", [["--port", "0"], ["--port", "70000"], ["--workers", "-1"], ["--port", "http"]])
def test_up_refuses_impossible_numbers(home: Path, arguments: list[str]) -> None:
    assert "Invalid value" in ganboard("up", *arguments, code=2).stderr
    assert not home.exists()


def test_an_unknown_option_is_one_readable_block(home: Path) -> None:
    assert "No such option: --sett" in ganboard("run", "--sett", "x", code=2).stderr


# --- an environment that does not work ----------------------------------------------------------------------------


def test_a_home_that_cannot_be_written(tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("GANBOARD_HOME", str(tmp_path / "file" / "home"))
    assert "set GANBOARD_HOME" in refused("run", "--preset", "tiny")


def test_a_database_from_the_future(context: Context) -> None:
    context.engine.dispose()
    with sqlite3.connect(context.settings.state / "ganboard.db") as connection:
        connection.execute("UPDATE alembic_version SET version_num = '9999'")
    connection.close()
    line = refused("runs")
    assert "schema 9999" in line
    assert "update ganboard" in line
    assert "schema 9999" in refused("db", "upgrade")


def test_a_file_that_is_no_database(home: Path) -> None:
    home.mkdir()
    (home / "ganboard.db").write_bytes(b"not a database " * 400)
    assert "not a database" in refused("runs")


def test_an_unreachable_database(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GANBOARD_DATABASE_URL", "postgresql://someone:geheim@127.0.0.1:9/ganboard")
    began = time.monotonic()
    line = refused("run", "--preset", "tiny")
    assert time.monotonic() - began < 6
    assert "check GANBOARD_DATABASE_URL" in line
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
    from db import migrate

    assert migrate.head() in ganboard("db", "upgrade").stdout


# --- helpers ------------------------------------------------------------------------------------------------------


def _claimed(context: Context, *, run_id: str | None = None, epochs: int = 2) -> Run:
    config = presets.load("tiny", {"epochs": epochs}).model_dump(mode="json")
    if run_id is None:
        run_id = commands.create_run(context.engine, name="a run", config=config).id
    assert commands.claim(context.engine, run_id=run_id, worker="testbox-1", lease_seconds=60)
    commands.set_started(
        context.engine,
        run_id=run_id,
        attempt=1,
        hardware=HARDWARE,
        examples=128,
        steps_per_epoch=4,
        start_step=0,
        g_parameters=1,
        d_parameters=1,
    )
    commands.set_phase(context.engine, run_id=run_id, attempt=1, phase="training")
    run = queries.get_run(context.engine, run_id)
    assert run is not None
    return run


def _finish_epoch(context: Context, run: Run, epoch: int, g_loss: float, d_loss: float) -> None:
    losses = np.full(4, 0.5, np.float32)
    commands.append_steps(context.engine, run_id=run.id, attempt=1, epoch=epoch, first=0, g_losses=losses, d_losses=losses)
    commands.finish_epoch(
        context.engine,
        run_id=run.id,
        attempt=1,
        epoch=epoch,
        steps=4,
        images=128,
        g_loss=g_loss,
        d_loss=d_loss,
        seconds=2.0,
        compile_seconds=0.0,
        g_path=(0.0, 0.0),
        d_path=(0.0, 0.0),
    )


class _Trainer:
    """A thread that takes the first run it finds and carries it through two epochs to `outcome`."""

    def __init__(self, context: Context, outcome: str) -> None:
        self._context, self._outcome = context, outcome
        self._thread = threading.Thread(target=self._train)

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(self, *_: object) -> None:
        self._thread.join()

    def _train(self) -> None:
        engine = self._context.engine
        wait_until(lambda: queries.count_runs(engine), seconds=10, what="the run")
        run = _claimed(self._context, run_id=queries.list_runs(engine)[0].id)
        _finish_epoch(self._context, run, 1, 0.5, 0.25)
        _finish_epoch(self._context, run, 2, 0.5, 0.125)
        error = "It broke." if self._outcome == "failed" else None
        commands.finish(engine, run_id=run.id, attempt=1, status=self._outcome, error=error)


def _on_a_terminal(arguments: list[str], *, after: str = "", typed: bytes = b"") -> tuple[str, int]:
    """Output and exit code of the program on a terminal of its own, where `typed` is typed once `after` has appeared."""
    ours, theirs = pty.openpty()
    pressed = False
    environment = {**os.environ, "TERM": "xterm-256color", "COLUMNS": "120"}
    with subprocess.Popen(
        [*PROGRAM, *arguments], stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True, env=environment
    ) as it:
        os.close(theirs)
        output, deadline = b"", time.monotonic() + 20
        while time.monotonic() < deadline:
            readable = select.select([ours], [], [], 0.5)[0]
            try:
                output += os.read(ours, 65536) if readable else b""
            except OSError:  # the program has ended
                break
            if typed and after.encode() in output and (not pressed or not readable):
                pressed = True  # and again when nothing follows: a Ctrl-C that meets input() as it begins to read is lost
                os.write(ours, typed)
        else:
            it.kill()
    os.close(ours)
    return output.decode(errors="replace"), it.returncode
