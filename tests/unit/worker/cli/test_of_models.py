"""Commands that models add."""

from __future__ import annotations

import pytest

from ganboard.worker.cli import of_models


@pytest.mark.parametrize(
    ("group", "names"),
    [("", ["predict"]), ("data", ["showers", "check", "convert", "flow"]), ("models", [])],
)
def test_models_add_commands_to_groups(group: str, names: list[str]) -> None:
    assert [command.__name__ for command in of_models.commands(group)] == names
