"""Which claims `ganboard check` proves of a model."""

from __future__ import annotations

import pytest

from ganboard.gan.config import ConfigError
from ganboard.gan.settings import registry
from ganboard.worker.selftest import claims as of_selftest
from ganboard.worker.selftest.model_claims import claims

OF_ONE_FILE = [name for name, model in registry.models().items() if model.file]


@pytest.mark.parametrize("name", OF_ONE_FILE)
def test_every_promise_is_a_claim_and_every_training_can_be(name: str) -> None:
    found = claims(name, gpu=True)
    said = " ".join(claim.name for claim in found)
    promises = ("2 replicas", "multi-worker", "fit", "resumed", "XLA", "bfloat16", "float16 stays")
    assert [promise for promise in promises if promise not in said] == []
    for claim in found:
        assert {claim.one.config.model, claim.other.config.model} == {name}


def test_half_precision_is_claimed_where_it_can_be_trained() -> None:
    of_gpu = {claim.name for claim in claims("convgan", gpu=True)}
    of_cpu = {claim.name for claim in claims("convgan", gpu=False)}
    assert of_gpu - of_cpu == {"convgan: mixed_float16 stays finite"}


def test_models_with_parts_of_their_own_keep_their_claims() -> None:
    found = claims("gan3d", gpu=False)
    assert found
    assert all(claim in of_selftest.claims() and "gan3d" in claim.name for claim in found)


def test_an_unknown_model_is_refused() -> None:
    with pytest.raises(ConfigError, match="model=nothing is not allowed"):
        claims("nothing", gpu=False)
