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


def test_the_page_on_searches_does_not_take_the_place_of_sphinx_s_own(tmp_path: Path) -> None:
    generated = {"reference/made.md": "[a](../search.md) [b](../research.md) [c](../search.md#x)"}
    staging.stage(tmp_path / "source", generated)
    assert (tmp_path / "source" / "searches.md").is_file()
    assert not (tmp_path / "source" / "search.md").exists()
    made = (tmp_path / "source" / "reference" / "made.md").read_text()
    assert made == "[a](../searches.md) [b](../research.md) [c](../searches.md#x)"


def test_a_page_is_written_or_generated(tmp_path: Path) -> None:
    with pytest.raises(FileExistsError, match=r"docs/engine\.md would be overwritten"):
        staging.stage(tmp_path / "source", {"engine.md": ""})
