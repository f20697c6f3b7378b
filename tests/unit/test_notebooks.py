"""The notebooks and scripts of docs/notebooks: what can run without the device runs here, on a
`ganboard` that keeps what it is asked; what cannot says why in its metadata."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from ganboard.worker.cli.main import app

FOLDER = Path(__file__).parents[2] / "docs" / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))
SCRIPTS = sorted(FOLDER.glob("*.sh"))
# writes its arguments, and for firstday both files
PROGRAM = """#!/usr/bin/env bash
echo "$@" >> "$CALLS"
while [ $# -gt 1 ]; do
  if [ "$1" = --bundle ]; then touch "$2" "${2%.zip}.html"; fi
  shift
done
exit 1
"""


def cells(notebook: Path) -> list[dict[str, Any]]:
    found = json.loads(notebook.read_text())
    assert (found["nbformat"], found["nbformat_minor"]) == (4, 5)
    ids = [cell["id"] for cell in found["cells"]]
    assert len(set(ids)) == len(ids)
    return list(found["cells"])


def code(notebook: Path) -> list[tuple[str, str, dict[str, Any]]]:
    """Id, text and what its metadata says to this test, of each cell with code."""
    return [
        (cell["id"], "".join(cell["source"]), cell["metadata"].get("ganboard", {}))
        for cell in cells(notebook)
        if cell["cell_type"] == "code"
    ]


@pytest.fixture
def variables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The environment of the cells; returns the file of the calls of `ganboard`."""
    program, calls = tmp_path / "program", tmp_path / "calls"
    program.write_text(PROGRAM)
    program.chmod(0o755)
    values = {
        "GANBOARD_GIT": "https://example.org/someone/ganboard.git",
        "WORK": str(tmp_path / "work"),
        "BIN": str(program),
        "BUNDLE": str(tmp_path / "day.zip"),
        "CALLS": str(calls),
    }
    for name, value in values.items():
        monkeypatch.setenv(name, value)
    for name in ("EXTRA", "GANBOARD_HOME", "FIRSTDAY"):
        monkeypatch.setenv(name, "to be removed at the end")
        monkeypatch.delenv(name)
    return calls


def run(text: str, names: dict[str, Any]) -> None:
    magic, _, rest = text.partition("\n")
    if magic == "%%bash":
        done = subprocess.run(["bash", "-c", rest], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
    else:
        exec(compile(text, "cell", "exec"), names)


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_cells_that_need_no_device_run(notebook: Path, variables: Path) -> None:
    names: dict[str, Any] = {}
    for cell, text, about in code(notebook):
        if "needs" in about:
            compile("pass" if text.startswith("%%bash") else text, cell, "exec")
            assert len(about["needs"]) > 20, "say why it cannot run without the device"
            continue
        run(text, names)
    assert variables.read_text().splitlines() == [
        "doctor --accelerator",
        f"firstday --minutes 15 --bundle {os.environ['BUNDLE']}",
    ]


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_the_address_must_be_set_first(
    notebook: Path, variables: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("GANBOARD_GIT")
    texts = {cell: text for cell, text, _ in code(notebook)}
    run(texts["settings"], {})
    with pytest.raises(AssertionError, match="Set GANBOARD_GIT"):
        run(texts["check"], {})


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_each_installs_tensorflow_for_its_device(notebook: Path) -> None:
    texts = {cell: text for cell, text, _ in code(notebook)}
    extra = "tpu" if "tpu" in notebook.stem else "gpu"
    assert f'("EXTRA", "{extra}")' in texts["settings"]
    assert ("libtpu==" in texts["install"]) == (extra == "tpu")


def test_notebooks_name_the_image_that_they_were_written_for() -> None:
    assert len(NOTEBOOKS) == 4
    for notebook in NOTEBOOKS:
        head = "".join(cells(notebook)[0]["source"])
        assert "Written against" in head
        assert "https://github.com/" in head
        assert "Python 3.1" in head


def test_the_options_exist() -> None:
    commands = {command.callback.__name__: command for command in app.registered_commands}
    assert {"minutes", "quick", "bundle"} <= set(commands["firstday"].callback.__annotations__)
    assert "accelerator" in commands["doctor"].callback.__annotations__


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_scripts_are_well_formed(script: Path) -> None:
    subprocess.run(["bash", "-n", script], check=True)
    if shellcheck := shutil.which("shellcheck"):
        done = subprocess.run([shellcheck, script], capture_output=True, text=True)
        assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_scripts_run_an_installed_ganboard(script: Path, variables: Path) -> None:
    done = subprocess.run(["bash", script], capture_output=True, text=True)
    assert done.returncode == 1, "the exit code of firstday"
    assert "ganboard import firstday-" in done.stdout
    first, second = variables.read_text().splitlines()
    assert first == "doctor --accelerator"
    assert second.startswith("firstday --minutes 15 --bundle ")


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_scripts_ask_for_the_address(
    script: Path, variables: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("BIN")
    monkeypatch.delenv("GANBOARD_GIT")
    done = subprocess.run(["bash", script], capture_output=True, text=True)
    assert done.returncode == 1
    assert "Set GANBOARD_GIT" in done.stderr
