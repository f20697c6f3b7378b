"""Commands that read make no state directory: a mistyped GANBOARD_HOME is one sentence with the
remedy."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli import ganboard, refused

READING = [
    ["runs"],
    ["show", "latest"],
    ["stop", "latest"],
    ["resume", "latest"],
    ["clone", "latest"],
    ["delete", "latest", "--yes"],
    ["export", "latest", "exported"],
    ["tag", "latest", "+x"],
    ["note", "latest", "x"],
    ["archive", "latest"],
    ["backup", "saved.zip"],
    ["studies"],
    ["models", "show", "digits"],
]


@pytest.mark.parametrize("command", READING, ids=lambda command: command[0])
def test_a_home_that_does_not_exist_is_named_and_not_made(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: list[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    said = refused(*command)
    assert str(home / "ganboard.db") in said
    assert "Set GANBOARD_HOME to an existing installation" in said
    assert list(tmp_path.iterdir()) == []


def test_a_folder_without_a_database_stays_as_it_is(home: Path) -> None:
    home.mkdir()
    refused("runs")
    assert list(home.iterdir()) == []


def test_a_database_that_is_named_and_absent_is_not_made(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GANBOARD_DATABASE_URL", f"sqlite:///{tmp_path}/x.db")
    assert "Set GANBOARD_DATABASE_URL to" in refused("runs")
    assert list(tmp_path.iterdir()) == []


def test_a_command_that_starts_something_makes_it(home: Path) -> None:
    ganboard("run", "--preset", "tiny", "--set", "dataset=digits")
    assert (home / "ganboard.db").exists()
    assert home.stat().st_mode & 0o777 == 0o700
