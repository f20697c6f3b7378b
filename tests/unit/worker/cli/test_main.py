"""The command line as people and scripts meet it: real SQLite, no Redis, no TensorFlow."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

from ganboard.db.models import Run
from ganboard.db.runs import queries
from ganboard.gan import presets
from ganboard.gan.config import RunConfig
from ganboard.worker.cli.main import app
from ganboard.worker.context import Context
from tests.attempt import claimed, finish_epoch
from tests.cli import document, ganboard, on_a_terminal, refused
from tests.factories import HARDWARE, HOSTILE_NAMES

MakeRun = Callable[..., Run]

COMMAND_LINE = {
    "up": ["--port", "--address", "--workers", "--no-starter"],
    "run": ["--preset", "--set", "--name", "--follow", "--settings", "--json"],
    "train": ["--preset", "--set", "--name", "--follow", "--settings", "--json"],
    "runs": ["--status", "--search", "--archived", "--limit", "--json"],
    "show": ["RUN", "--json"],
    "stop": ["RUN", "--json"],
    "resume": ["RUN", "--without", "--json"],
    "clone": ["RUN", "--set", "--name", "--json"],
    "delete": ["RUN", "--yes", "-y", "--json"],
    "export": ["RUN", "DIR", "--json"],
    "tag": ["RUN", "[+TAG|-TAG]...", "--json"],
    "note": ["RUN", "TEXT", "--json"],
    "archive": ["RUN...", "--json"],
    "unarchive": ["RUN...", "--json"],
    "backup": ["FILE", "--json"],
    "restore": ["FILE", "--force", "--json"],
    "worker": [],
    "inference-worker": [],
    "mlflow-sync": ["--to", "--once"],
    "painter": [],  # the former name of inference-worker
    "mirror": ["--to", "--once"],  # of mlflow-sync
    "doctor": ["--deep", "--fix", "--json"],
    "sweep": ["--preset", "--set", "--vary", "--seeds", "--name", "--reuse", "--dry-run", "--json"],
    "study": ["NAME", "--preset", "--set", "--seeds", "--follow", "--dry-run", "--json"],
    "surface": ["RUN...", "--plane", "--size", "--images", "--json"],
    "serve": ["MODEL", "--canary", "--canary-percent", "--share", "--host", "--port"],
    "predict": [
        "RUN",
        "--steps",
        "--sequence",
        "--group",
        "--replicas",
        "--halo",
        "--xla",
        "--out",
        "--times",
        "--json",
    ],
    "published": ["--json"],
    "import": ["PATH...", "--json"],
    "studies": ["--json"],
    "report": ["STUDY", "FILE"],
    "bench": [
        "--model",
        "--batch",
        "--precision",
        "--rounds",
        "--only",
        "--steps",
        "--plot",
        "--peer-python",
        "--json",
    ],
    "selftest": ["--only", "--json"],
    "db upgrade": [],
    "models publish": ["MODEL", "--to"],
    "models add": ["RUN", "--name", "--epoch", "--json"],
    "models show": ["MODEL", "--json"],
    "models alias": ["MODEL", "ALIAS", "--json"],
    "models remove": ["MODEL", "--json"],
    "models quantize": ["MODEL", "--to", "--limit", "--force", "--json"],
    "models compare": ["MODEL", "MODEL", "--picture", "--json"],
    "data showers": [
        "FILE",
        "--events",
        "--layout",
        "--energy-low",
        "--energy-high",
        "--seed",
        "--json",
    ],
    "data check": ["FILES...", "--json"],
    "data convert": ["TFRECORDS", "FILE", "--json"],
    "data flow": [
        "FOLDER",
        "--reynolds",
        "--obstacle",
        "--held-out",
        "--frames",
        "--grid",
        "--diameter",
        "--speed",
        "--discard",
        "--every",
        "--seed",
        "--json",
    ],
}


def leaf_commands() -> dict[str, Any]:
    root = get_command(app)
    found = {}
    for name, command in root.commands.items():  # type: ignore[attr-defined]
        below = getattr(command, "commands", None)
        found |= (
            {f"{name} {inner}": each for inner, each in below.items()} if below else {name: command}
        )
    return found


def test_the_command_line_is_frozen() -> None:
    found = {
        name: [
            word
            for param in command.params
            for word in ([param.metavar] if param.param_type_name == "argument" else param.opts)
        ]
        for name, command in leaf_commands().items()
    }
    assert found == COMMAND_LINE


FORMER = {"painter": "inference-worker", "mirror": "mlflow-sync"}  # hidden aliases


@pytest.mark.parametrize("name", COMMAND_LINE)
def test_help_explains_itself_with_an_example(name: str) -> None:
    text = ganboard(*name.split(), "--help").stdout
    assert "Example" in text
    assert f"ganboard {FORMER.get(name, name)}" in text


def test_help_loads_nothing_heavy() -> None:
    script = """
import sys
from ganboard.worker.cli.main import app
for words in ([], *[name.split() for name in sys.argv[1:]]):
    try:
        app([*words, "--help"])
    except SystemExit as ended:
        assert not ended.code, words
heavy = {"tensorflow", "keras", "streamlit", "pandas", "sklearn", "numpy", "sqlalchemy", "redis",
         "rq", "alembic"}
sys.exit(f"loaded: {sorted(heavy & set(sys.modules))}" if heavy & set(sys.modules) else 0)
"""
    ran = subprocess.run(
        [sys.executable, "-c", script, *COMMAND_LINE], capture_output=True, text=True, timeout=30
    )
    assert ran.returncode == 0, ran.stderr


@pytest.mark.thorough
def test_reading_and_submitting_runs_loads_no_tensorflow(home: Path) -> None:
    script = """
import sys
from ganboard.worker.cli.main import app
sweep = ["sweep", "--preset", "tiny", "--seeds", "2"]
for words in (sweep, ["run", "--preset", "tiny"], ["runs"], ["show", "latest"], ["stop", "latest"],
              ["delete", "latest", "--yes"]):
    try:
        app(words)
    except SystemExit as ended:
        assert not ended.code, words
heavy = {"tensorflow", "keras", "streamlit", "pandas", "sklearn"} & set(sys.modules)
sys.exit(f"loaded: {sorted(heavy)}" if heavy else 0)
"""
    ran = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=120
    )
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


def test_run_stores_and_says_what_it_waits_for(home: Path) -> None:
    said = ganboard("run", "--preset", "tiny", "--set", "epochs=7", "--name", "first look").stdout
    shown = document("show", "latest")
    assert shown["id"] in said
    assert "No worker is running" in said
    assert "ganboard up" in said
    assert (shown["name"], shown["status"], shown["preset"]) == ("first look", "queued", "tiny")
    assert shown["config"]["epochs"] == 7
    assert shown["config"]["limit"] == presets.values("tiny")["limit"]


def test_run_prints_the_document_of_show(home: Path) -> None:
    submitted = document("run", "--preset", "tiny")
    assert submitted == document("show", submitted["id"])
    assert set(submitted) >= {
        "id",
        "name",
        "status",
        "config",
        "hardware",
        "epochs",
        "error",
        "attempt",
    }


def test_show_json_has_exact_losses(make_run: MakeRun, context: Context) -> None:
    run = make_run(epochs=3)
    shown = document("show", run.id)
    stored = queries.epochs(context.engine, run.id)
    assert [
        (e["epoch"], e["g_loss"], e["g_loss_hex"], e["d_loss_hex"]) for e in shown["epochs"]
    ] == [(e.epoch, e.g_loss, e.g_loss.hex(), e.d_loss.hex()) for e in stored]
    assert [e["images_per_second"] for e in shown["epochs"]] == [
        e.images / e.seconds for e in stored
    ]
    assert shown["hardware"] == HARDWARE


def test_losses_that_are_not_finite_are_null_and_named(context: Context) -> None:
    run = claimed(context, epochs=2)
    for epoch, g, d in ((1, float("nan"), float("inf")), (2, float("-inf"), 0.0)):
        finish_epoch(context, run, epoch, g, d)
    shown = document("show", run.id)["epochs"]
    assert [(e["g_loss"], e["g_loss_hex"], e["d_loss"], e["d_loss_hex"]) for e in shown] == [
        (None, "nan", None, "inf"),
        (None, "-inf", 0.0, "0x0.0p+0"),
    ]
    assert "NaN" in ganboard("show", run.id).stdout


def test_show_for_people(make_run: MakeRun, context: Context) -> None:
    run = make_run(name="a good run", epochs=12, precision="mixed_bfloat16")
    text = ganboard("show", run.id).stdout
    for part in (
        run.id,
        "a good run",
        "finished",
        'precision="mixed_bfloat16"',
        "Test CPU",
        str(context.settings.log_path(run.id)),
    ):
        assert part in text
    assert "latest 10 of 12 epochs" in text


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
    old, failed, new = (
        make_run(name="alpha"),
        make_run(name="beta", status="failed"),
        make_run(name="Alpha two", status="queued"),
    )
    assert [run["id"] for run in document("runs")] == [new.id, failed.id, old.id]
    assert [run["id"] for run in document("runs", "--status", "failed", "--status", "queued")] == [
        new.id,
        failed.id,
    ]
    assert [run["id"] for run in document("runs", "--search", "alpha")] == [new.id, old.id]
    assert [run["id"] for run in document("runs", "--limit", "1")] == [new.id]
    assert "1 of 3 runs" in ganboard("runs", "--limit", "1").stdout
    assert "epochs" not in document("runs")[0]


def test_runs_of_an_empty_database(context: Context) -> None:
    assert "ganboard run --preset starter" in ganboard("runs").stdout
    assert document("runs") == []


def test_stop_and_resume(home: Path) -> None:
    run_id = document("run", "--preset", "tiny")["id"]
    assert document("stop", run_id[:6])["status"] == "stopped"
    assert "is already" in refused("stop", run_id)
    assert "queued again" in ganboard("resume", run_id).stdout
    assert "resumes automatically" in refused("resume", run_id)


def test_stop_a_run_that_trains(make_run: MakeRun, context: Context) -> None:
    run = make_run(status="running")
    assert "stops after the current step" in ganboard("stop", run.id).stdout
    stored = queries.get_run(context.engine, run.id)
    assert stored is not None
    assert stored.stop_requested_at is not None


def test_clone_changes_the_given_settings(make_run: MakeRun) -> None:
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
    assert document("delete", run.id, "--yes") == {
        "id": run.id,
        "name": run.name,
        "deleted": True,
        "files_left_on": [],
    }
    assert not context.settings.run_dir(run.id).exists()
    assert "There is no run" in refused("show", run.id)


def test_delete_refuses_a_run_that_trains(make_run: MakeRun) -> None:
    assert "Stop it" in refused("delete", make_run(status="running").id, "--yes")


@pytest.mark.parametrize(
    ("typed", "code", "deleted"), [(b"y\n", 0, True), (b"n\n", 1, False), (b"\x03", 130, False)]
)
def test_delete_asks_on_a_terminal(
    make_run: MakeRun, context: Context, typed: bytes, code: int, deleted: bool
) -> None:
    run = make_run()
    output, exit_code = on_a_terminal(["delete", run.id], after="[y/N]", typed=typed)
    assert exit_code == code, output
    assert (queries.get_run(context.engine, run.id) is None) == deleted
