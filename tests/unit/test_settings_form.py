"""What the launch form knows of each setting."""

from __future__ import annotations

import pytest

from app import settings_form
from gan.config import GROUPS, RunConfig, parse


def test_every_group_has_an_icon() -> None:
    assert tuple(settings_form.ICONS) == GROUPS


def test_words_and_conditions_name_settings() -> None:
    assert set(settings_form.WORDS) | set(settings_form.RELEVANT) <= set(RunConfig.model_fields)


def test_every_number_has_a_step_that_moves_it() -> None:
    steps = {name: settings_form._step(field) for name, field in RunConfig.model_fields.items() if field.annotation is float}
    assert all(step > 0 for step in steps.values())
    assert (steps["g_learning_rate"], steps["beta_1"], steps["epsilon"]) == pytest.approx((1e-5, 0.01, 1e-8))
    assert (steps["ema"], steps["label_smoothing"], steps["r1"], steps["schedule_period"]) == (0.01, 0.01, 1.0, 1.0)


@pytest.mark.parametrize(
    "values",
    [{"loss": "wgan_gp"}, {"loss": "hinge"}, {"optimizer": "rmsprop"}, {"optimizer": "sgd"}, {"schedule": "constant", "epochs": 1}],
)
def test_the_defaults_of_hidden_settings_are_always_allowed(values: dict[str, object]) -> None:
    config = parse(values).model_dump()  # which refuses a default that does not fit
    assert not all(relevant(config) for relevant in settings_form.RELEVANT.values())
