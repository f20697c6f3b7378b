from __future__ import annotations

from typing import Any

import pytest

from ganboard.app.compare.choices import choices
from ganboard.db.models import Run
from ganboard.gan.presets import load


def run(**settings: Any) -> Run:
    return Run(name="a", config=load("tiny").model_dump(mode="json") | settings)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"xla": True}, ("xla on", "xla off")),
        ({"precision": "mixed_bfloat16"}, ("mixed_bfloat16", "float32")),
        (
            {"xla": True, "precision": "mixed_bfloat16"},
            ("mixed_bfloat16 with xla on", "float32 with xla off"),
        ),
        ({}, ("", "")),
        ({"epochs": 77}, ("", "")),  # `fairness` speaks of the epochs
        ({"xla": True, "precision": "mixed_bfloat16", "batch_size": 64, "seed": 7}, ("", "")),
    ],
)
def test_what_sets_a_run_apart(settings: dict[str, Any], words: tuple[str, str]) -> None:
    assert choices(run(), run(**settings)) == words
