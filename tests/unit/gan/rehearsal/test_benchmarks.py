"""What `ganboard rehearse models` compiles."""

from __future__ import annotations

import pytest

from ganboard.gan.config import ConfigError
from ganboard.gan.rehearsal import report
from ganboard.gan.rehearsal.benchmarks import benchmark_configs
from ganboard.gan.settings import registry


def test_every_built_in_model_is_rehearsed() -> None:
    assert [config.model for config in benchmark_configs()] == list(registry.models())


def test_models_can_be_chosen() -> None:
    assert [config.model for config in benchmark_configs(["sngan", "dcgan"])] == ["sngan", "dcgan"]
    with pytest.raises(ConfigError, match="model=gan5 is not allowed"):
        benchmark_configs(["sngan", "gan5"])


def test_stored_reports_still_belong_to_their_models() -> None:
    keys = {config.model: report.key(config) for config in benchmark_configs()}
    expected = {
        "dcgan": "ed9e575e58b2ad45bf6f3c0dec011cbc",
        "gan3d": "1f99fcab84342b0f03b72f3654d27fbc",
        "pix2pix": "1e49800a63d1478a5fd6677898d1f41a",
    }
    assert {model: keys[model] for model in expected} == expected
