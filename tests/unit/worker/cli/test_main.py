"""The command line as a whole: its commands and options, their help, and what they load."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

from ganboard.gan import presets
from ganboard.gan.settings.metadata import all_settings
from ganboard.worker.cli.main import app
from tests.cli import document, ganboard

COMMAND_LINE = {
    "up": ["--port", "--address", "--workers", "--no-starter"],
    "run": [*("--preset", "--set", "--name", "--follow", "--priority", "--settings", "--json")],
    "mcp": ["--url", "--allow-changes"],
    "token create": ["NAME", "--scope", "--days", "--owner", "--json"],
    "token list": ["--json"],
    "token revoke": ["ID", "--json"],
    "machines": ["--json"],
    "drain": ["MACHINE", "--json"],
    "schedule": ["SCHEDULER"],
    "undrain": ["MACHINE", "--json"],
    "priority": ["RUN", "NUMBER", "--json"],
    "train": ["--preset", "--set", "--name", "--follow", "--settings", "--json"],
    "runs": ["--status", "--search", "--archived", "--trash", "--column", "--limit", "--json"],
    "show": ["RUN", "--metric", "--over", "--metrics", "--json"],
    "explain": ["RUN", "--json"],
    "stop": ["RUN", "--json"],
    "resume": ["RUN", "--without", "--with-new-code", "--json"],
    "check": ["MODEL", "--json"],
    "new model": ["NAME", "--in"],
    "data show": ["FOLDER", "--image-size", "--channels", "--out", "--count", "--json"],
    "fork": ["RUN", "--step", "--set", "--name", "--json"],
    "clone": ["RUN", "--set", "--name", "--json"],
    "delete": ["RUN", "--permanently", "--yes", "-y", "--json"],
    "undelete": ["RUN...", "--json"],
    "export": ["RUN", "DIR", "--json"],
    "tensorboard": ["RUN", "DIR", "--json"],
    "networks": ["RUN", "DIR", "--format", "--network", "--epoch", "--weights", "--json"],
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
    "alerts": ["--json"],
    "claim": [
        "CLAIM",
        "--against",
        "--set",
        "--preset",
        "--pairs",
        "--hours",
        "--seed",
        "--confidence",
        "--power",
        "--dry-run",
        "--json",
    ],
    "search start": [
        "--preset",
        "--set",
        "--vary",
        "--metric",
        "--objective",
        "--target",
        "--sampler",
        "--pruner",
        "--seed",
        "--runs",
        "--hours",
        "--parallel",
        "--name",
        "--dry-run",
        "--json",
    ],
    "search list": ["--json"],
    "search show": ["SEARCH", "--json"],
    "search stop": ["SEARCH", "--now", "--json"],
    "search continue": ["SEARCH", "--runs", "--hours", "--no-hours", "--parallel", "--json"],
    "search remove": ["SEARCH", "--yes", "-y", "--json"],
    "search drive": [],
    "claims": ["--json"],
    "claims show": ["CLAIM", "--json"],
    "claims stop": ["CLAIM", "--json"],
    "claims remove": ["CLAIM", "--yes", "-y", "--json"],
    "claims export": ["CLAIM", "FILE"],
    "claims work": [],
    "alerts add-channel": [
        "NAME",
        "--kind",
        "--secret-file",
        "--host",
        "--port",
        "--security",
        "--user",
        "--from",
        "--to",
        "--json",
    ],
    "alerts add-rule": ["CHANNEL", "--event", "--condition", "--minutes", "--search", "--json"],
    "alerts test": ["CHANNEL", "--json"],
    "alerts on": ["CHANNEL-OR-RULE", "--json"],
    "alerts off": ["CHANNEL-OR-RULE", "--json"],
    "alerts remove": ["CHANNEL-OR-RULE", "--json"],
    "alerts send": [],
    "doctor": ["--deep", "--fix", "--accelerator", "--json"],
    "sweep": ["--preset", "--set", "--vary", "--seeds", "--name", "--reuse", "--dry-run", "--json"],
    "study": ["NAME", "--preset", "--set", "--seeds", "--follow", "--dry-run", "--json"],
    "evaluate": ["RUN...", "--sweep", "--json"],
    "surface": ["RUN...", "--plane", "--size", "--images", "--json"],
    "firstday": ["--minutes", "--quick", "--bundle", "--json"],
    "rehearse": [
        "RUN-OR-PRESET",
        "--on",
        "--set",
        "--model",
        "--precision",
        "--form",
        "--largest-batch",
        "--json",
    ],
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
    "import": ["[tensorboard|mlflow|wandb] PATH...", "--json"],
    "studies": ["--json"],
    "report": ["STUDY|RUN", "FILE", "--html", "--pdf"],
    "bench": [
        "--model",
        "--batch",
        "--precision",
        "--rounds",
        "--only",
        "--steps",
        "--plot",
        "--peer-python",
        "--set",
        "--json",
    ],
    "bench quality": ["[RECIPE]...", "--fid", "--dataset", "--seeds", "--minutes", "--json"],
    "selftest": ["--only", "--json"],
    "db upgrade": [],
    "models": ["--json"],
    "models publish": ["MODEL", "--to"],
    "models add": ["RUN", "--name", "--epoch", "--json"],
    "models show": ["MODEL", "--json"],
    "models alias": ["MODEL", "ALIAS", "--json"],
    "models download": ["MODEL", "FILE"],
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
        below = getattr(command, "commands", {})
        if not below or command.invoke_without_command:  # a command with others below it
            found[name] = command
        found |= {f"{name} {inner}": each for inner, each in below.items()}
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
    assert set(by_name) == set(all_settings())
    assert by_name["batch_size"]["allowed"] == "from 1 to 65,536"
    assert by_name["batch_size"]["default"] == 64
    assert by_name["g_learning_rate"]["allowed"] == "more than 0 to 10"
    assert by_name["limit"]["allowed"] == "from 1 to 10,000,000 or none"
    assert by_name["precision"]["allowed"] == "float32 | mixed_bfloat16 | mixed_float16"
    assert by_name["xla"]["allowed"] == "true | false"
    assert all(name in text for name in by_name)
    assert [preset["name"] for preset in listed["presets"]] == list(presets.NAMES)
    assert not home.exists()  # looking does not begin a state directory
