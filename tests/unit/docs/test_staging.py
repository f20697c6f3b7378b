"""docs.generator.staging: the source tree of the site."""

from __future__ import annotations

from pathlib import Path

import pytest

from docs.generator import staging


def test_the_pages_of_docs_and_of_the_root_are_side_by_side(tmp_path: Path) -> None:
    target = tmp_path / "source"
    (target / "old").mkdir(parents=True)
    staging.stage(target, {"reference/made.md": "# Made\n"})
    assert (target / "engine.md").read_text() == (staging.DOCS / "engine.md").read_text()
    assert (target / "reference" / "made.md").read_text() == "# Made\n"
    assert not (target / "old").exists()
    assert not (target / "generator").exists()
    contributing = (target / "CONTRIBUTING.md").read_text()
    assert "](tpu.md)" in contributing
    assert "](docs/" not in contributing


def test_a_page_is_written_or_generated(tmp_path: Path) -> None:
    with pytest.raises(FileExistsError, match=r"docs/engine\.md would be overwritten"):
        staging.stage(tmp_path / "source", {"engine.md": ""})
