"""Which runs have the same latents in their grids."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ganboard.gan.config import fixed_inputs, parse
from ganboard.gan.modeling import samples
from ganboard.gan.presets import NAMES, load
from ganboard.gan.settings.adversarial import AdversarialConfig

TINY = load("tiny").model_dump(mode="json")


def latents(**changes: Any) -> Any:
    config = parse({**TINY, **changes})
    assert isinstance(config, AdversarialConfig)
    return samples.latents(config).numpy()


@pytest.mark.parametrize(
    "changes", [{"batch_size": 16}, {"grid_size": 2}, {"precision": "mixed_bfloat16"}]
)
def test_runs_with_equal_ones_have_the_same_latents(changes: dict[str, Any]) -> None:
    assert fixed_inputs({**TINY, **changes}) == fixed_inputs(TINY)
    both = latents(), latents(**changes)
    count = min(map(len, both))
    assert np.array_equal(both[0][:count], both[1][:count])


@pytest.mark.parametrize("changes", [{"seed": 5}, {"latent_dim": 50}])
def test_runs_with_others_have_different_latents(changes: dict[str, Any]) -> None:
    assert fixed_inputs({**TINY, **changes}) != fixed_inputs(TINY)
    assert not np.array_equal(latents()[:, :50], latents(**changes)[:, :50])


def test_columns_of_a_conditional_model_are_classes() -> None:
    config = load("starter").model_dump(mode="json")
    assert fixed_inputs(config) != fixed_inputs({**config, "grid_size": config["grid_size"] + 1})


@pytest.mark.parametrize("name", NAMES)
def test_every_model_names_settings_that_it_has(name: str) -> None:
    found = fixed_inputs(load(name).model_dump(mode="json"))
    assert found
    assert None not in {value for key, value in found.items() if key != "limit"}
