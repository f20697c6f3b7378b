from __future__ import annotations

from typing import Any

import pytest

from ganboard.db.models import Run
from ganboard.gan.presets import load
from ganboard.worker.comparison.choices import choices, varying, words


def run(**settings: Any) -> Run:
    return Run(name="a", config=load("tiny").model_dump(mode="json") | settings)


@pytest.mark.parametrize(
    ("settings", "expected"),
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
def test_what_sets_a_run_apart(settings: dict[str, Any], expected: tuple[str, str]) -> None:
    assert choices(run(), run(**settings)) == expected


def config(**settings: Any) -> dict[str, Any]:
    return run(**settings).config


def test_few_varying_settings_are_all_named() -> None:
    configs = {
        "a": config(),
        "b": config(xla=True, seed=5),
        "c": config(seed=6, checkpoint_every=7),
    }
    assert varying(configs.values()) == ["xla"]
    assert words(configs) == {"a": "xla off", "b": "xla on", "c": "xla off"}
    del configs["b"]
    assert words(configs) == {"a": "", "c": ""}


def test_of_many_varying_settings_the_unusual_ones_are_named() -> None:
    odd = config(
        xla=True,
        precision="mixed_bfloat16",
        batch_size=8,
        g_learning_rate=0.5,
        d_learning_rate=0.25,
        d_steps=3,
        latent_dim=7,
    )
    found = words({"a": config(), "b": config(), "odd": odd})
    assert found["a"] == "the most common settings"
    assert "batch_size 8" in found["odd"]
    assert found["odd"].endswith("and 1 more")
