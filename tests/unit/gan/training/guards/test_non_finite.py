from __future__ import annotations

from dataclasses import fields
from typing import Any

import numpy as np
import pytest

from ganboard.gan.config import RunConfig
from ganboard.gan.presets import load
from ganboard.gan.training.guards.non_finite import (
    NotFinite,
    first_loss_not_finite,
    first_not_finite,
    not_finite,
)
from ganboard.gan.training.step_metrics import Seconds, StepMetrics


def config(**values: Any) -> RunConfig:
    rates = {"g_learning_rate": 1e-4, "d_learning_rate": 2e-4}
    return load("digits", {"grid_size": 4, **rates, **values})


def metrics(**columns: list[float]) -> StepMetrics:
    names = {field.name for field in fields(StepMetrics)} - {"seconds", "terms"}
    arrays: dict[str, Any] = {name: np.zeros(3, np.float32) for name in names}
    arrays["bad_tensor"] -= 1
    arrays |= {name: np.array(values, np.float32) for name, values in columns.items()}
    seconds = Seconds(*np.zeros([4, 3, 1], np.float32))
    return StepMetrics(**arrays, seconds=seconds, terms={})


@pytest.mark.parametrize(
    ("columns", "wanted"),
    [
        ({}, None),
        ({"g_loss": [1, np.nan, 3], "d_loss": [1, 2, np.inf]}, NotFinite("generator", "loss", 11)),
        (
            {"g_loss": [1, 2, np.nan], "bad_tensor": [-1, 1, 1]},
            NotFinite("generator", "gradient", 11, "generator/dense"),
        ),
        (
            {"d_update": [1, np.inf, 1], "d_loss": [1, 2, np.nan]},
            NotFinite("discriminator", "weight", 11),
        ),
    ],
)
def test_the_first_value_that_is_not_finite_is_named(
    columns: dict[str, list[float]], wanted: NotFinite | None
) -> None:
    assert (
        first_not_finite(10, metrics(**columns), ["discriminator/logits", "generator/dense"])
        == wanted
    )


def test_the_first_loss_that_is_not_finite() -> None:
    fine, nan, inf = (
        np.zeros(5, np.float32),
        np.float32([0, 0, 0, np.nan, 0]),
        np.float32([0, 0, -np.inf, 0, 0]),
    )
    assert first_loss_not_finite(100, fine, fine) is None
    assert first_loss_not_finite(100, np.empty(0, np.float32), np.empty(0, np.float32)) is None
    assert first_loss_not_finite(100, nan, fine) == NotFinite("generator", "loss", 103)
    assert first_loss_not_finite(100, nan, inf) == NotFinite("discriminator", "loss", 102)
    # D's comes first within a step
    assert first_loss_not_finite(100, nan, nan) == NotFinite("discriminator", "loss", 103)


def test_the_sentence_names_net_tensor_and_step_and_what_to_do() -> None:
    assert (
        not_finite(config(precision="float32"), 56, NotFinite("generator", "loss", 56))
        == "A loss in the generator is not finite at step 1 of epoch 2. The run ends and its last"
        " good checkpoint is kept. Clone it and lower the learning rates (now 0.0001 for G,"
        " 0.0002 for D) or set clip_norm=1."
    )
    half = config(
        precision="mixed_float16",
        clip_norm=1,
        lr_scaling="linear",
        batch_size=128,
        lr_base_batch=64,
        on_non_finite="roll_back",
    )
    assert (
        not_finite(half, 56, NotFinite("discriminator", "gradient", 55, "conv2d/kernel"))
        == "A gradient of conv2d/kernel in the discriminator is not finite at step 56 of epoch 1."
        " The run ends after one rollback. Clone it and lower the learning rates (now 0.0002"
        " for G, 0.0004 for D), set precision=mixed_bfloat16 or float32 or set warmup_epochs=5."
    )


def test_the_sentence_of_a_roll_back() -> None:
    found = NotFinite("generator", "weight", 119, "dense/kernel")
    assert (
        not_finite(config(on_non_finite="roll_back"), 56, found, back_to=112)
        == "A weight of dense/kernel in the generator is not finite at step 8 of epoch 3. The run"
        " was rolled back to the checkpoint of step 112 and continues with half the learning"
        " rates. This happens at most once."
    )
    assert "rolled back to the start" in not_finite(
        config(on_non_finite="roll_back"), 56, found, back_to=0
    )
