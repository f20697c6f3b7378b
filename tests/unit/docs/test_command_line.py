"""docs.generator.command_line: every command with its help, parameters and examples."""

from __future__ import annotations

import pytest

from docs.generator import command_line
from tests.unit.worker.cli.test_main import COMMAND_LINE, FORMER


@pytest.fixture(scope="module")
def page() -> str:
    return command_line.page()


def test_every_command_that_is_not_hidden_has_a_section_with_its_parameters(page: str) -> None:
    for name, parameters in COMMAND_LINE.items():
        sections = page.split(f"\n## ganboard {name}\n")
        assert len(sections) == (1 if name in FORMER else 2), name
        section = sections[-1].split("\n## ")[0]
        if name not in FORMER:
            for one in parameters:
                assert one in section, (name, one)


def test_help_keeps_its_paragraphs_and_examples_become_code() -> None:
    shown = command_line.described("Do x*.\n\nExample:\n  ganboard x *.png\n  ganboard x\n\nEnd.")
    assert shown == (
        "Do x\\*.\n\nExample:\n\n```text\nganboard x *.png\nganboard x\n```\n\nEnd.\n\n"
    )


def test_an_option_has_its_meaning_and_default(page: str) -> None:
    up = page.split("\n## ganboard up\n")[1].split("\n## ")[0]
    assert "ganboard up [OPTIONS]" in up
    assert "| `--port <int range>` | The dashboard's port. \\[default: 8501;" in up
    assert "[docs/security.md](../security.md)" in up
