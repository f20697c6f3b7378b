"""What `ganboard rehearse` refuses before any work; what it compiles is in
tests/integration/test_rehearse.py."""

from __future__ import annotations

import pytest

from tests.cli import refused


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["models", "--model", "sngan,gan5"], "model=gan5 is not allowed"),
        (["models", "--set", "width=8"], "leave out --set and --form, or name a preset"),
        (["models", "--form", "gradients"], "leave out --set and --form, or name a preset"),
        (["models", "--precision", "half"], "precision=half is not allowed"),
        (["paper", "--model", "sngan", "--on", "h100"], "--model sngan goes with `models` alone"),
    ],
)
def test_what_does_not_go_together_is_refused(arguments: list[str], sentence: str) -> None:
    assert sentence in refused("rehearse", *arguments)
