"""docs.generator.environment: every variable that the packages read is on the page."""

from __future__ import annotations

import re
from pathlib import Path

from docs.generator import environment
from ganboard.db.settings import Settings

ROOT = Path(__file__).parents[3]
# of docker-compose.yml, or set by ganboard for processes that it starts; X stands for any
INTERNAL = {
    f"GANBOARD_{name}"
    for name in (
        *("HOSTS", "JOB", "JOB_TASKS", "LOG", "MEMBER", "PARENT_PID", "RANK_HOSTS"),
        *("WORKER_NAME", "X"),
    )
}


def named(text: str) -> set[str]:
    return set(re.findall(r"\bGANBOARD_[A-Z_]*[A-Z]\b", text))


def test_every_variable_of_the_sources_is_on_the_page() -> None:
    files = [
        path for name in ("app", "db", "gan", "worker") for path in (ROOT / name).rglob("*.py")
    ]
    found = set().union(*(named(path.read_text()) for path in files))
    in_sources = {name.removesuffix("_FILE") for name in found} - INTERNAL
    assert len(in_sources) > 20
    assert in_sources <= named(environment.page())


def test_a_row_has_meaning_and_default() -> None:
    page = environment.page()
    assert "| `GANBOARD_MACHINE_WAIT` | Seconds a run waits" in page
    assert "| `300` |" in page
    assert len(re.findall(r"^\| `GANBOARD_\w+` \| .* \| .* \|$", page, re.MULTILINE)) == len(
        Settings.model_fields
    )
