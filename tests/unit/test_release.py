"""What a release says of itself, and the files that a host of the project reads."""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest
import yaml

from tests import release
from tests.cli import ganboard

ROOT = release.ROOT
CHANGELOG = """# Changelog

## [0.2.0] - unreleased

### Added

- Something.

## [0.1.0] - 2026-01-01

- The rest.
"""


def test_notes_are_the_entries_of_one_version() -> None:
    assert release.notes(CHANGELOG, "0.2.0") == "### Added\n\n- Something.\n"
    assert release.notes(CHANGELOG, "0.1.0") == "- The rest.\n"
    with pytest.raises(ValueError, match=r"no entries of version 0\.3\.0"):
        release.notes(CHANGELOG, "0.3.0")


def test_this_version_has_notes_and_is_the_same_everywhere() -> None:
    assert release.notes((ROOT / "CHANGELOG.md").read_text(), release.version())
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert citation["version"] == release.version() == version("ganboard")
    assert ganboard("--version").stdout == f"ganboard {release.version()}\n"


def test_what_two_locks_pin_differently() -> None:
    before = "a==1.0 \\\n    --hash=sha256:0\nb==2.0\ngone==1\n"
    after = "a==1.1 \\\n    --hash=sha256:1\nb==2.0\nnew==3\n"
    names = [line.split() for line in release.changes(before, after)]
    assert names == [["a", "1.0", "->", "1.1"], ["gone", "1", "->", "-"], ["new", "-", "->", "3"]]


@pytest.mark.parametrize(
    ("schema", "pattern"),
    [
        ("vendor.github-workflows", ".github/workflows/*.yml"),
        ("custom.github-workflows-require-timeout", ".github/workflows/*.yml"),
        ("vendor.github-issue-forms", ".github/ISSUE_TEMPLATE/[bi]*.yml"),
        ("vendor.github-issue-config", ".github/ISSUE_TEMPLATE/config.yml"),
        ("vendor.citation-file-format", "CITATION.cff"),
    ],
)
def test_files_of_the_host_follow_their_schemas(schema: str, pattern: str) -> None:
    files = sorted(ROOT.glob(pattern))
    assert files
    check = Path(sys.executable).with_name("check-jsonschema")
    subprocess.run([check, "--builtin-schema", schema, *files], check=True, capture_output=True)


def test_workflows_call_what_is_there() -> None:
    """Each script and target that a workflow runs exists."""
    makefile = (ROOT / "Makefile").read_text()
    called = 0
    for path in ROOT.glob(".github/workflows/*.yml"):
        for job in yaml.safe_load(path.read_text())["jobs"].values():
            for step in job["steps"]:
                words = step.get("run", "").split()
                if words[:1] == ["make"]:
                    targets = [word for word in words[1:] if "=" not in word]
                    assert all(f"\n{target}: " in makefile for target in targets), words
                    called += 1
                elif words and words[0].startswith(".ci/"):
                    assert (ROOT / words[0]).is_file()
                    called += 1
    assert called >= 7
